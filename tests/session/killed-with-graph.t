#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a client while its graph runs: the GPU's memory comes back, and the session beside it goes on.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
start_box --devices sim:1
for transport in shm tcp; do
    before=$(free_mib)
    start_session other "RGPU_TRANSPORT=$transport"
    other=$PID
    start victim env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "RGPU_TRANSPORT=$transport" "$BUILD/tests/graph-running"
    victim=$PID
    await_line victim '^running' || bail "no graph runs"
    with=$(free_mib)
    ok "$transport: a graph runs, and memory is held" test "$with" -lt $((before - 512))
    stop "$victim" KILL
    ok "$transport: the memory of its client is free again" comes_true free_again $((with + 512))
    ok "$transport: the other session goes on" goes_on other
    stop "$other"
done
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
