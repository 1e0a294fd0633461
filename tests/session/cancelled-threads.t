#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads that are cancelled inside of calls: each call ends first, and all others go on.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    run_program "$transport: threads that are cancelled in calls" "$BUILD/tests/rough-process" cancelled
done
run=(on_box RGPU_STATS=1 "CUDA_LOG_FILE=$TMP/errors")
run_program "with a summary and a log of errors" "$BUILD/tests/rough-process" cancelled
done_testing
