#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The driver's private tables: a program is told through a box what it is told on the GPU itself, and a
# table that nobody knows is named in the user's log, once.
. "$(dirname "$0")/../lib.sh"
start_box --devices sim:1
groups() { sed -n 's/^# groups //p' "$1"; }
ok "the program runs on the GPU itself" \
    natively sh -c "'$BUILD/tests/programs/tables' >'$TMP/gpu.out'"
like "$(groups "$TMP/gpu.out")" '^0:0 0:1 .* 1:0 .* \(result 0\)$' "and is told the groups of its processors"
for transport in shm tcp; do
    status=0
    on_box "RGPU_TRANSPORT=$transport" RGPU_LOG=warn "$BUILD/tests/programs/tables" \
        >"$TMP/out" 2>"$TMP/err" || status=$?
    is $status 0 "$transport: it runs on a box"
    is "$(groups "$TMP/out")" "$(groups "$TMP/gpu.out")" "$transport: and is told the same"
    is "$(grep -c 'private table .*id=6e6f626f-6479-206b-6e6f-7773206d6500' "$TMP/err")" 1 \
        "$transport: the unknown table is named once, with its id"
    like "$(cat "$TMP/err")" 'NVIDIA.s CUPTI, which sees nothing of remote GPUs: start it with .rgpuctl run., or with LD_PRELOAD=' \
        "$transport: a profiler of NVIDIA's hears how to start the program"
done
# What is missing, libraries jump to without a look.
python3 -B "$TOP/proto/generate" "$TOP/proto/cuda.spec" symbols.txt >"$TMP/symbols"
ok "the library has a function for each name and each place of a table" on_box sh -c "'$BUILD/tests/entry-points' <'$TMP/symbols'"
grep '^# missing' "$TMP/ok.out" || true
done_testing
