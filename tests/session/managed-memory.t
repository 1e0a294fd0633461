#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Managed memory over each transport, with each way of noticing what the program touches: random programs that keep to
# its rules see what a model says.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
programs=${MANAGED_PROGRAMS:-400}
first=1
start_box
for transport in shm tcp; do
    for faults in userfaultfd signals; do
        run=(on_box "RGPU_TRANSPORT=$transport" "RGPU_MANAGED_FAULTS=$faults")
        run_program "$transport, $faults: both sides use it in turns" "$BUILD/tests/programs/managed"
        run_program "$transport, $faults: random programs $first to $((first + programs - 1))" \
            "$BUILD/tests/programs/managed-random" "$first" "$programs"
        first=$((first + programs))
    done
done
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
