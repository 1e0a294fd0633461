#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Warm workers are refilled; an empty pool delays a client and never refuses it.
. "$(dirname "$0")/stub.sh"
queued() { [ "$(admin health | member queued)" = 1 ]; }
two_starting() { [ "$(admin devices | member starting)" = 2 ]; }

mkfifo -m 666 "$TMP/gate"
exec {gate}<>"$TMP/gate"
launch_stub_box STUB_GATE="$TMP/gate" --warm-workers 1 --refill-timeout 0
printf g >&$gate
await_stub_box
hold first
await_line first 'open session'
pass "the warm worker serves at once"

start waiting "$CLIENT" "$BOX" echo hi
await "two workers that start" two_starting
pass "one is started for it, and one for the next client"
printf g >&$gate
await_line waiting 'echoed'
pass "a client that came to an empty pool is served when a worker is ready"
printf g >&$gate
await "a refilled pool" sh -c "$BUILD/bin/rgpuctl devices --json --socket $ADMIN | head -1 | grep -q '\"warm\":1'"
pass "the pool is refilled in the background"
is "$(admin devices | tail -n 1 | member warm)" 0 "no warm workers where no client begins"

kill -KILL "$(spawned "$BOX_PID" -n stub-worker)"
await_log 'worker ended pid=[0-9]+ state=ending how="killed by signal 9'
printf g >&$gate
await "a refilled pool" sh -c "$BUILD/bin/rgpuctl devices --json --socket $ADMIN | head -1 | grep -q '\"warm\":1'"
pass "a warm worker that is killed is replaced"

# A client that gives up waiting leaves the queue.
hold second
await_line second 'open session'
start impatient "$CLIENT" "$BOX"
await "a waiting client" queued
kill "$PID"; wait "$PID" 2>/dev/null || true
await_log 'client left the queue peer='
pass "a client that leaves while it waits is forgotten"

# A worker becomes ready while the order to end is on its way to it.
await "a worker that starts" two_starting
kill "$BOX_PID"
await_log 'box state=leaving'
printf gg >&$gate
await_log 'worker ended .*the box takes no new sessions'
unlike "$(cat "$BOX_LOG")" 'broke the protocol' "one that is ready as the box ends is no fault"
start_stub_box --log-level debug --handshake-timeout 10min --refill-timeout 0
started() { grep -n 'worker started pid=' "$BOX_LOG" | sed -n "$1s/:.*//p"; }
is_started() { [ -n "$(started 2)" ]; }
hold opens
await "the replacement" is_started
opened=$(grep -n 'session=1 transport=' "$BOX_LOG" | head -n 1 | cut -d: -f1)
[ "$(started 2)" -gt "${opened:-1000000}" ] && pass "a replacement is started once the session that took the worker is open" ||
    fail "a replacement is started once the session that took the worker is open"
release opens
done_testing
