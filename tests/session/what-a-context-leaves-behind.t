#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Graphs, functions and green contexts whose context has gone are refused before the driver sees them, which here crashes
# on everything that is gone, as real ones do on some of it.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
export RGPU_SIM_STALE=crash
status=0
natively "$BUILD/tests/left-behind" >"$TMP/native.out" 2>&1 || status=$?
is "$status" 134 "natively the program crashes the driver"
start_box --devices sim:1
for transport in shm tcp; do
    run=(on_box RGPU_TRANSPORT=$transport)
    run_program "$transport: what is left behind is refused" "$BUILD/tests/left-behind"
    run_program "$transport: handles of graphs that are gone" "$BUILD/tests/graph-handles"
done
unlike "$(cat "$BOX_LOG")" 'of what is gone' "no worker gave the driver a handle of what is gone"
done_testing
