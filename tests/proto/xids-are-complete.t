#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each Xid of NVIDIA's catalogue, from the first to the last, has one row in the table, with a section that has a class.
. "$(dirname "$0")/../lib.sh"
table=$TOP/proto/gpu_faults.h
sed -n 's/^    X(\([0-9]*\), \([0-9]*\), \([A-Z0-9_]*\), "\(.*\)").*/\1 \2 \3 \4/p' "$table" >"$TMP/rows"
is "$(awk '$1 != last + 1 || $2 < $1 { print "after", last } { last = $2 }' "$TMP/rows")" "" "no number is left out and none has two rows"
is "$(head -n 1 "$TMP/rows" | cut -d' ' -f1) $(tail -n 1 "$TMP/rows" | cut -d' ' -f2)" "1 172" "from the first to the last of the catalogue"
is "$(cut -d' ' -f3 "$TMP/rows" | sort -u | while read -r section; do grep -q "^    X($section, FAULT_" "$table" || echo "$section"; done)" "" \
    "each section has a class"
is "$(awk '{ $1 = $2 = $3 = ""; if (length > 90) print }' "$TMP/rows")" "" "texts are short"
# The catalogue's own words for some that everybody meets.
for row in 31:RESTART_APP 48:WORKFLOW_XID_48 63:IGNORE 74:WORKFLOW_NVLINK_ERR 79:RESTART_BM 94:RESTART_APP 95:RESET_GPU 119:RESET_GPU; do
    is "$(awk -v xid="${row%:*}" '$1 <= xid && xid <= $2 { print $3 }' "$TMP/rows")" "${row#*:}" "Xid ${row%:*}"
done
done_testing
