#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A kernel that faults ends its own context only: the session beside it does not notice, and the
# next program finds a device as new.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/session/faults.sh"
start_box --devices sim:1
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    start_session other "RGPU_TRANSPORT=$transport"
    other=$PID
    run_program "$transport: a program with a faulting kernel" "$BUILD/tests/programs/fault"
    ok "$transport: the other session goes on" goes_on other
    run_program "$transport: the next program computes" "$BUILD/tests/programs/saxpy"
    stop "$other"
done
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
