#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Records, results, kinds and numbers of calls are those of CUPTI's own headers, where these are installed.
. "$(dirname "$0")/../lib.sh"
for headers in /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include; do
    [ ! -e "$headers/cupti_activity.h" ] || break
done
[ -e "$headers/cupti_activity.h" ] || skip_all "CUPTI's headers are not installed"
grep -q "CUPTI_API_VERSION 13" "$headers/cupti_version.h" || skip_all "CUPTI's headers are of another release than 13"
requires "${CC:-cc}" python3

# Lines "ours theirs": members of records, then constants, which both call the same.
fields() { cat <<'END'
cupti_kernel CUpti_ActivityKernel10 kind:kind cache_config:cacheConfig registers:registersPerThread start:start end:end completed:completed device:deviceId context:contextId stream:streamId grid:gridX block:blockX static_shared:staticSharedMemory dynamic_shared:dynamicSharedMemory local_per_thread:localMemoryPerThread local_total:localMemoryTotal correlation:correlationId grid_id:gridId name:name queued:queued submitted:submitted launch_type:launchType shared_executed:sharedMemoryExecuted graph_node:graphNodeId graph:graphId access_policy:pAccessPolicyWindow channel:channelID cluster:clusterX local_total_wide:localMemoryTotal_v2 largest_cluster:maxPotentialClusterSize from_device:isDeviceLaunched
cupti_copy_record CUpti_ActivityMemcpy6 copy:copyKind from:srcKind to:dstKind flags:flags bytes:bytes start:start end:end device:deviceId context:contextId stream:streamId correlation:correlationId graph_node:graphNodeId graph:graphId count:copyCount
cupti_peer_copy_record CUpti_ActivityMemcpyPtoP4 copy:copyKind bytes:bytes start:start device:deviceId from_gpu:srcDeviceId from_context:srcContextId to_gpu:dstDeviceId to_context:dstContextId correlation:correlationId graph_node:graphNodeId graph:graphId
cupti_set_record CUpti_ActivityMemset4 value:value bytes:bytes start:start end:end device:deviceId stream:streamId correlation:correlationId flags:flags memory:memoryKind graph_node:graphNodeId graph:graphId
cupti_call_record CUpti_ActivityAPI call:cbid start:start end:end process:processId thread:threadId correlation:correlationId result:returnValue
cupti_external_record CUpti_ActivityExternalCorrelation external_kind:externalKind external:externalId correlation:correlationId
cupti_call_data CUpti_CallbackData site:callbackSite function:functionName parameters:functionParams result:functionReturnValue symbol:symbolName context:context context_number:contextUid note:correlationData correlation:correlationId
END
}
# program OURS|THEIRS: prints the size of each record and the offset of each member.
program() {
    local ours theirs members one
    echo '#include <stddef.h>'
    echo '#include <stdio.h>'
    [ "$1" = ours ] && echo '#include "proto/cupti_abi.h"' || echo '#include <cupti.h>'
    echo 'int main(void) {'
    while read -r ours theirs members; do
        [ "$1" = ours ] && echo "printf(\"$ours %zu\\n\", sizeof(struct $ours));" || echo "printf(\"$ours %zu\\n\", sizeof($theirs));"
        for one in $members; do
            [ "$1" = ours ] && echo "printf(\"$ours.${one%:*} %zu\\n\", offsetof(struct $ours, ${one%:*}));" ||
                echo "printf(\"$ours.${one%:*} %zu\\n\", offsetof($theirs, ${one#*:}));"
        done
    done < <(fields)
    grep -oE '\bCUPTI_(SUCCESS|ERROR_[A-Z_]+|ACTIVITY_KIND_[A-Z0-9_]+|CB_DOMAIN_[A-Z_]+|API_E[A-Z]+)' "$TOP/proto/cupti_abi.h" | sort -u |
        while read -r name; do echo "printf(\"$name %d\\n\", (int)$name);"; done
    echo 'return 0; }'
}
program ours >"$TMP/ours.c"
program theirs >"$TMP/theirs.c"
ok "a program with our declarations" "${CC:-cc}" -w -I"$TOP" -o "$TMP/ours" "$TMP/ours.c"
ok "and one with CUPTI's" "${CC:-cc}" -w -I"$headers" -I/usr/local/cuda/include -o "$TMP/theirs" "$TMP/theirs.c"
"$TMP/ours" >"$TMP/a"
"$TMP/theirs" >"$TMP/b"
ok "there is something to compare" [ "$(wc -l <"$TMP/a")" -gt 80 ]
is "$(diff "$TMP/a" "$TMP/b")" "" "lay out records alike and have the same numbers"

numbers() { python3 - "$headers" "$BUILD/gen/cupti_numbers.h" <<'PY'
import re, sys
headers, generated = sys.argv[1:]
driver = dict(re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+)\s*=\s*(\d+)", open(headers + "/cupti_driver_cbid.h").read()))
runtime = {}
for name, number in re.findall(r"CUPTI_RUNTIME_TRACE_CBID_(\w+)_v\d+\s*=\s*(\d+)", open(headers + "/cupti_runtime_cbid.h").read()):
    runtime.setdefault(name, []).append(number)
table = open(generated).read()
found = re.findall(r'\{"(\w+)", (\d+),', table)
assert len(found) > 400 and [n for n, _ in found] == sorted(n for n, _ in found)
for name, number in found:
    if driver.get(name) != number:
        print(name, number, driver.get(name))
rows = re.findall(r'"(cuda\w+)", (\d+)\}', table)
assert len(rows) > 40
for name, number in rows:
    if number not in runtime.get(name, []):
        print(name, number, runtime.get(name))
PY
}
is "$(numbers)" "" "calls have CUPTI's numbers, and lie in the order in which they are looked for"
done_testing
