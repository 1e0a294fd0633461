#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Workers that do not start: growing pauses, and an error that says what to do.
. "$(dirname "$0")/stub.sh"

echo "driver library stub not found: install it" >"$TMP/broken"
launch_stub_box STUB_FAIL_FILE="$TMP/broken"
status=0
wait "$BOX_PID" || status=$?
is "$status" 1 "a standalone box whose workers never start gives up"
logs "$BOX_LOG" 'giving up: .*driver library stub not found: install it' "and says why"
is "$(grep -c 'worker start failed' "$BOX_LOG")" 3 "after three attempts"

rm "$TMP/broken"
start_stub_box STUB_FAIL_FILE="$TMP/broken"
echo "the GPU fell off the bus" >"$TMP/broken"
"$CLIENT" "$BOX" echo hi >/dev/null
await_log 'worker start failed failures=3'
out=$("$CLIENT" "$BOX" || true)
like "$out" 'error result=802 box .*workers do not start: the GPU fell off the bus' \
    "a client is told the workers' own reason"
fails "health says so" admin health
rm "$TMP/broken"
await "recovery" "$CLIENT" "$BOX" echo hi
pass "when the cause is gone the box recovers by itself"
ok "and is healthy again" admin health

launch_stub_box --worker-program /nonexistent/worker
status=0
wait "$BOX_PID" || status=$?
is "$status" 2 "a worker program that is missing is a wrong setting"
logs "$BOX_LOG" 'worker_program=/nonexistent/worker cannot be run .*No such file' "which names it"
mkfifo -m 666 "$TMP/never-opened"
launch_stub_box STUB_GATE="$TMP/never-opened" --worker-start-timeout 200ms --worker-backoff-max 100ms
status=0
wait "$BOX_PID" || status=$?
is "$status" 1 "a worker that never gets ready is an error"
logs "$BOX_LOG" 'not ready within worker_start_timeout' "which is explained"

# A worker that is started with other arguments than it knows ends as one of another build does.
launch_stub_box --worker-program "$BUILD/bin/rgpu-spawner"
status=0
wait "$BOX_PID" || status=$?
is "$status" 1 "a worker of another build ends the box"
logs "$BOX_LOG" 'giving up: .*rgpu-spawner is of another build than rgpud.*install all three from one build' \
    "which says so"
is "$(grep -c 'worker start failed' "$BOX_LOG")" 1 "at the first attempt"
done_testing
