#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: every program of tests/programs over verbs.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
start_rdma_box
run=(over_rdma)
run_programs copies # has a machine of its own
for program in "$BUILD"/tests/programs/graph/* "$BUILD"/tests/programs/array/array-{graphs,kinds}; do
    run_program "C: ${program##*/}" "$program"
done
run_program "C: array-random, a few rounds" "$BUILD/tests/programs/array/array-random" 20 20
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
