#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a box's rgpud beside its spawner: sessions of leases go on with the next one, within their budget, which
# further sessions of the lease share; a lease keeps its GPU for itself; and its end still ends its sessions.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/hold_memory.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

MIB=$((1 << 20)) OOM=CUDA_ERROR_OUT_OF_MEMORY
ctl=$BUILD/bin/rgpuctl
ADMIN=$TMP/admin.sock
box() { start_cuda_box box1 --spawner "$SPAWNER" --admin-socket "$ADMIN" --gpu-mode auto --memory-check 1s; }
again() { kill -KILL "$BOX_PID" && wait "$BOX_PID" 2>/dev/null || true; box; }
accounts() { "$ctl" devices --socket "$ADMIN" --json | grep -o '"account_bytes": *[0-9]*' | sort; }
sessions() { "$ctl" sessions --socket "$ADMIN" --json | grep -c '"session"'; }
has_sessions() { [ "$(sessions)" = "$1" ]; }
right() { local name; for name; do look "$name"; done; for name; do await_line "$name" '^right'; done; }

start_broker
start_spawner --devices sim:2
box
export RGPU_BROKER=unix:$BROKER_SOCKET
lease=$(api POST /v1/leases "{\"request\": {\"gpus\": [{\"mode\": \"shared\", \"memory\": $((1000 * MIB))}]}, \"ticket\": true}")
id=$(at lease.id <<<"$lease")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
context=$(api GET /v1/gpus/box1:0 | at gpu.context)
program one
is "$(tell one take $((600 * MIB)))" CUDA_SUCCESS "600 of 1000 MiB"
program two
is "$(tell two take $((100 * MIB)))" CUDA_SUCCESS "100 more by another process"
unset RGPU_TICKET
hold_lease half 1 --mem 64M --compute 50 --transport tcp
hold_lease whole 1
ok "programs have their data" right half whole
ok "four sessions" has_sessions 4
accounts >"$TMP/before"
for restart in first second; do
    again
    ok "$restart restart: programs have their data" right half whole
    ok "$restart restart: four sessions" has_sessions 4
    is "$(accounts)" "$(cat "$TMP/before")" "$restart restart: accounts are as they were"
    is "$(tell one info)" "free $((300 * MIB - context)) total $((1000 * MIB))" "$restart restart: a process has its budget"
    is "$(tell two take $((301 * MIB)))" $OOM "$restart restart: beyond which no other gets memory"
    is "$(api GET /v1/leases | grep -o '"state":"granted"' | wc -l)" 3 "$restart restart: the broker has the leases"
done
export RGPU_TICKET
RGPU_TICKET=$(at ticket <<<"$lease")
program three
is "$(tell three take $((300 * MIB)))" $OOM "a new process of the lease shares the budget"
is "$(tell three take $((300 * MIB - 2 * context)))" CUDA_SUCCESS "to the last byte"
is "$(tell one take 1)" $OOM "as an earlier one sees"
unset RGPU_TICKET
fails "a GPU of a lease of its own is given to no other" "$ctl" run --no-wait --mode exclusive -- true
api DELETE "/v1/leases/$id" >/dev/null
ok "the lease's end ends its sessions, old and new" await "its sessions are gone" has_sessions 2
ok "and the lease ends" await "the end" lease_is "$id" ended
ok "programs of other leases go on" right half whole
ok "the invariants hold" invariants
done_testing
