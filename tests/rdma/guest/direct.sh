#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: copies between a client's memory and that of the GPU with nothing between, what goes by
# staging blocks all the same, and what is left of either.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
run=(over_rdma)
program() { run_program "$1, $2" "$BUILD/tests/programs/$1"; }
# The last session's count of copies of a kind: gpudirect or staged.
count() { sed -n "s/.*session=[0-9]* copies .*\\b$1=\\([0-9]*\\).*/\\1/p" "$BOX_LOG" | tail -n 1; }
registered() { rdma resource show mr | grep -c . || true; }

start_rdma_box --paths direct
ok "a first session" over_rdma "$BUILD/tests/programs/saxpy"
logs "$BOX_LOG" 'gpudirect=yes by="peer memory"' "the log says how GPU memory is registered"
await "an idle box" is_idle 1
before=$(registered)
for name in allocations pinned traps overlap rectangles; do program $name "all copies direct"; done
run_program "large, all copies direct" "$BUILD/tests/programs/large" 1
ok "copies were direct" [ "$(count gpudirect)" -gt 10 ]
program pools "all copies that can be direct"
ok "those of pools were not" [ "$(count staged)" -gt 0 ]
ok "no registration is left behind" await "as many regions as before" eval '[ "$(registered)" = "$before" ]'

endure=$BUILD/tests/programs/endure
for way in to from; do
    : >"$TMP/rounds"
    over_rdma "$endure" --$way >"$TMP/rounds" 2>/dev/null &
    enduring=$!
    await "a first copy" grep -q '^round' "$TMP/rounds"
    pkill -KILL -x endure
    wait $enduring 2>/dev/null || true
    ok "a client that is killed in mid-transfer $way the GPU leaves nothing" \
        await "as many regions as before" eval '[ "$(registered)" = "$before" ]'
done
stop "$BOX_PID"

start_rdma_box
run=(over_rdma RGPU_PATHS=one-sided)
run_program "large, by blocks as the program says" "$BUILD/tests/programs/large" 1
is "$(count gpudirect)" 0 "no copy is direct"
run=(over_rdma RGPU_PATHS=direct)
run_program "large, directly as the program says" "$BUILD/tests/programs/large" 1
is "$(count staged)" 0 "no copy is staged"
run=(over_rdma)
stop "$BOX_PID"
for mode in no dmabuf; do
    start_rdma_box --gpudirect $mode --paths direct
    program allocations "gpudirect = $mode"
    is "$(count gpudirect)" 0 "no copy is direct"
    stop "$BOX_PID"
done
logs "$BOX_LOG" 'gpudirect=no .*dma-buf: Operation not supported' \
    "a GPU without dma-buf is told in the log"
done_testing
