#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box survives its rgpud: sessions go on while it is away, and the next one takes them over as they are.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
requires python3
ADMIN=$TMP/admin.sock
box() { start_box --devices sim:1 --memory-check 1s --spawner "$SPAWNER" --admin-socket "$ADMIN"; }
# sessions: what the box says of each, without figures that change by themselves.
sessions() {
    "$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json | python3 -c '
import json, sys
for row in [json.loads(line) for line in sys.stdin if "session" in line]:
    for name in "age_seconds bytes_in bytes_out calls utilization".split():
        row.pop(name, None)
    print(json.dumps(row))'
}
killed() { kill -KILL "$BOX_PID" && wait "$BOX_PID" 2>/dev/null || true; }
# known: the box knows what the sessions hold, by its own accounts and by the driver.
known() { sessions >"$TMP/before" && [ "$(grep -c '"memory": 16777216.*"driver_bytes": 8' "$TMP/before")" = 2 ]; }
as_before() { sessions >"$TMP/now" && cmp -s "$TMP/before" "$TMP/now"; }
has_none() { [ -z "$(sessions)" ]; }

start_spawner --devices sim:1
box
for transport in shm tcp; do start_session "$transport" "RGPU_TRANSPORT=$transport" RGPU_RECONNECT=10; done
ok "two sessions run" await "what two sessions hold" known
address=$BOX
killed
for transport in shm tcp; do ok "$transport: the session goes on without rgpud" goes_on "$transport"; done
start newcomer env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$ENDURE" 60
newcomer=$PID
box
is "$BOX" "$address" "the next rgpud has the address"
for transport in shm tcp; do ok "$transport: the session goes on with the next rgpud" goes_on "$transport"; done
ok "a client that came meanwhile has waited, and is served" await_line newcomer '^round 1$'
logs "$BOX_LOG" 'session=3 begins' "its session has the next number"
killed
box
ok "that session is taken over, too, and ends as ever" wait "$newcomer"
logs "$BOX_LOG" 'session=3 ended .*how="exited with status 0"' "which the box notices"
ok "the next rgpud shows the sessions as they were" await "the sessions of before" as_before ||
    diff "$TMP/before" "$TMP/now" >&2

relay_to_box() {
    start relay python3 -B "$TOP/tests/session/forwarder.py" "$TMP/target" "${1:-0}"
    RELAY=$PID
    await_line relay '^port ([0-9]+)' || bail "no relay"
    GATE=${LINE#port }
}
echo "$BOX" >"$TMP/target"
relay_to_box
start cut env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="127.0.0.1:$GATE" RGPU_TRANSPORT=tcp RGPU_LOG=info "$ENDURE"
cut=$PID
await_line cut '^round 1$' || bail "no session"
killed
stop "$RELAY" KILL
logs "$TMP/cut.log" 'is lost, the session waits' "a connection is lost while there is no rgpud"
relay_to_box "$GATE"
box
ok "the next rgpud takes another connection of its session" goes_on cut
stop "$RELAY" KILL
relay_to_box "$GATE"
ok "and one more" goes_on cut
stop "$cut"

kill -USR1 "$BOX_PID"
ok "rgpud ends when it is to leave its sessions" wait "$BOX_PID"
box
for transport in shm tcp; do ok "$transport: the session goes on after that" goes_on "$transport"; done

killed
box
kill -TERM "$BOX_PID"
logs "$BOX_LOG" 'box state=leaving' "rgpud waits for its sessions when it is told to stop"
kill -TERM "$BOX_PID"
ok "and ends when it is told so again" wait "$BOX_PID"
for transport in shm tcp; do
    ok "$transport: and its sessions end" await_line "$transport" '^error'
done
box
ok "so that there is none to take over" has_none
done_testing
