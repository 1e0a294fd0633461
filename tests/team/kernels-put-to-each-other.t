#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Put and notify from kernels: natively and on a box. Between boxes, whose GPUs do not reach each other, it is refused.
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
BOXES=$first,$BOX run=(on_box)
run_program "GPUs of two boxes" "$RANKS" 3 far
done_testing
