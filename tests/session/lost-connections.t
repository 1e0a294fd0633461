#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is said while a connection is lost, and how it ends: in time, too late, or with RGPU_RECONNECT=0 at once. A program that
# ends by itself, or whose session the box ends, is not waited for.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
ADMIN=$TMP/admin
start_box --devices sim:1 --admin-socket "$ADMIN"
sessions() { "$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" "$@"; }
reconnecting() { sessions | grep -q reconnecting; }
computing() { [ -n "$(sessions --json)" ] && ! reconnecting; }
no_sessions() { [ -z "$(sessions --json)" ]; }

echo "$BOX" >"$TMP/target"
relay_to_box() {
    start relay python3 -B "$TOP/tests/session/forwarder.py" "$TMP/target" "${1:-0}"
    RELAY=$PID
    await_line relay '^port ([0-9]+)' || bail "no relay"
    GATE=${LINE#port }
}
relay_to_box
run_behind() {
    start "$1" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="127.0.0.1:$GATE" RGPU_TRANSPORT=tcp RGPU_LOG=info "${@:2}" "$ENDURE"
    await_line "$1" '^round 1$' || bail "no session"
}

run_behind survivor
survivor=$PID
stop "$RELAY" KILL
ok "rgpuctl sessions says that a session waits for its connection" await "reconnecting" reconnecting
relay_to_box "$GATE"
ok "once the way is open again, the session goes on" goes_on survivor
ok "and no longer waits" await "computing" computing
is "$(grep -c 'is lost, the session waits' "$TMP/survivor.log")" 1 "the client's log says once that it was lost"
is "$(grep -c 'continues over another connection' "$TMP/survivor.log")" 1 "and once that it goes on"
is "$(grep -c 'is lost, the session waits' "$BOX_LOG")" 1 "and so does the box's"

run_behind hurried RGPU_RECONNECT=0
run_behind late RGPU_RECONNECT=2
stop "$RELAY" KILL
ok "with RGPU_RECONNECT=0 the loss is an error" await_line hurried '^error CUDA_ERROR_DEVICE_UNAVAILABLE'
logs "$TMP/hurried.log" 'is lost: the peer has gone' "which is explained"
ok "after the time is over, too" await_line late '^error CUDA_ERROR_DEVICE_UNAVAILABLE'
logs "$TMP/late.log" 'is lost: the peer has gone' "in the same words"
relay_to_box "$GATE"
ok "the other session goes on" goes_on survivor
stop "$survivor"
ok "only a program that was killed is waited for" await "reconnecting" reconnecting
ok "and only for seconds, since its host closed the connection" await "no sessions" no_sessions

start_box --devices sim:1 --admin-socket "$ADMIN.2"
ADMIN=$ADMIN.2
on_box RGPU_TRANSPORT=tcp "$BUILD/tests/programs/saxpy" >"$TMP/saxpy.out"
ok "a program that ends is not" await "no sessions" no_sessions
unlike "$(cat "$BOX_LOG")" 'is lost, the session waits' "not even for a moment"
start_session ended RGPU_TRANSPORT=tcp
kill -KILL "$(workers | head -n 1)"
ok "a session whose worker is gone is not made again" await_line ended '^error '
done_testing
