#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: programs of graphs, arrays and managed memory over verbs; random ones with few rounds.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
start_rdma_box
run=(over_rdma)
programs=$BUILD/tests/programs
for program in "$programs"/graph/graph-{build,capture,memory,repeat} "$programs"/array/array-{graphs,kinds} \
    "$programs"/managed{,-system,-variables}; do
    run_program "C: ${program##*/}" "$program"
done
run_program "C: array-random, a few rounds" "$programs/array/array-random" 20 20
run_program "C: managed-random, a few programs" "$programs/managed-random" 1 5
run_program "C: mapped-host, on demand" "$programs/mapped-host" yes
run_program "C: mapped-on-demand" "$programs/mapped-on-demand"
run_program "C: managed-random, page-locked and registered memory on demand" "$programs/managed-random" 6004 3 mixed
run=(over_rdma RGPU_MAPPED_HOST=mirror)
run_program "C: mapped-host, by mirrors" "$programs/mapped-host" yes
run_program "C: managed-random, page-locked and registered memory by mirrors" "$programs/managed-random" 6001 3 mixed
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
