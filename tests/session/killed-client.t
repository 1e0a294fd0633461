#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a client in the middle of its transfers: its GPU memory comes back, the session beside
# it does not notice, and the box says what happened.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
start_box --devices sim:1
export RGPU_RECONNECT=1 # over tcp a client that is killed may as well be cut off
for transport in shm tcp; do
    before=$(free_mib)
    start_session other "RGPU_TRANSPORT=$transport"
    other=$PID
    start holder env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" \
        "RGPU_TRANSPORT=$transport" "$ENDURE" --hold 512
    holder=$PID
    await_line holder '^holding' || bail "no memory held"
    start_session victim "RGPU_TRANSPORT=$transport"
    with=$(free_mib)
    ok "$transport: sessions take memory" test "$with" -lt $((before - 512))
    stop "$PID" KILL
    stop "$holder" KILL
    ok "$transport: the memory of dead clients is free again" comes_true free_again $((with + 512))
    ok "$transport: the other session goes on" goes_on other
    stop "$other"
done
logs "$BOX_LOG" 'session.*(ended|end|gone|closed)' "the box says how sessions ended"
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
