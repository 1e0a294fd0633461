#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that leave in the middle of work, in every way there is: the box takes it calmly, and
# the next program finds everything as it should be.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    for how in return exit _exit thread release; do
        run_program "$transport: leaves by $how" "$BUILD/tests/programs/exits" "$how"
    done
    status=0
    on_box "RGPU_TRANSPORT=$transport" "$BUILD/tests/programs/exits" abort >/dev/null 2>&1 ||
        status=$?
    is $status 134 "$transport: leaves by abort"
    run_program "$transport: the next program computes" "$BUILD/tests/programs/saxpy"
    run_program "$transport: and finds all memory free" "$BUILD/tests/programs/queries"
done
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
