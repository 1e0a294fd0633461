#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A stream that waits for another process's event goes on when that process is killed before the event has come.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
for transport in shm tcp; do
    run=(on_box RGPU_TRANSPORT=$transport)
    run_program "over $transport" "$BUILD/tests/programs/waiting_elsewhere" orphan
done
done_testing
