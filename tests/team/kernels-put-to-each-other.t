#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Put and notify from kernels: natively, on a box, and between boxes, whose GPUs do not reach each other.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
RANKS=$BUILD/tests/team/ranks
run=(env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib/sim:$BUILD/lib" "RGPU_SIM_STATE=$TMP/native"
    RGPU_SIM_DEVICES=2)
for members in 1 2 3; do run_program "natively: $members members" "$RANKS" $members; done
start_box --devices sim:2
first=$BOX
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    run_program "$transport: two GPUs of a box" "$RANKS" 2
done
start_box --devices sim:1
BOXES=$first,$BOX
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    run_program "$transport: two GPUs of a box, and one of another" "$RANKS" 3
done
done_testing
