#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that wait for streams and contexts, where the GPU itself tells them of the end, however slow it is: what they
# are told, printed and called for comes as it does with an answer.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
run=(on_box RGPU_TRANSPORT=shm RGPU_SPIN_US=1000000)
for name in threads callbacks print fault traps pools graph/graph-capture graph/graph-contexts graph/graph-repeat managed crossing; do
    run_program "$name" "$BUILD/tests/programs/$name"
done
done_testing
