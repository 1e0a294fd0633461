#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that load the library to see whether there is a GPU, and unload it: nothing accumulates in the process or on the
# box, and a later load goes on with the same session. So it is for a statically linked program.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    run_program "$transport: 70 rounds" "$BUILD/tests/reloaded" "$BUILD/lib/libcuda.so.1" 70
    run_program "$transport: 10 rounds of a static program" "$BUILD/tests/reloaded-static" "$BUILD/lib/libcuda.so.1" 10
done
is "$(grep -c 'session=[0-9]* begins' "$BOX_LOG")" 4 "each program had one session"
run_program "the box serves the next program" "$BUILD/tests/programs/saxpy"
done_testing
