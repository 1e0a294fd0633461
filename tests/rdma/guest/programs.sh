#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: programs of tests/programs over verbs, those that move data, and such as end or fork while data move. What a
# call does runs over shm and tcp; each program takes an emulated machine several seconds.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
start_rdma_box
run=(over_rdma)
for name in saxpy matmul overlap callbacks pinned threads print traps rectangles pools fault forks allocations large starved \
    draining virtual registered sharing pool-sharing ranks batches crossing late-copy small-copies repeated freed-random asked-again; do
    run_program "C: $name" "$BUILD/tests/programs/$name"
done
for name in overlap per_thread pinned threads; do
    program=$BUILD/tests/programs/shared/$name
    if [ -x "$program" ]; then run_program "CUDA C++: $name" "$program"; else skip "CUDA C++: $name: no nvcc to build it"; fi
done
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
