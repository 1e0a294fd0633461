#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Draining, stopping, and what happens to workers when the supervisor is killed.
. "$(dirname "$0")/stub.sh"

start_stub_box
hold one
await_line one 'open session'
kill -TERM "$BOX_PID"
await_log 'box state=leaving'
out=$("$CLIENT" "$BOX" || true)
like "$out" 'error result=802 .*drained.*use another one' "a draining box refuses new clients, with advice"
alive "$(hold_pid one)" && pass "running sessions go on" || fail "running sessions go on"
release one
status=0
wait "$BOX_PID" || status=$?
is "$status" 0 "with the last session the box exits"

start_stub_box
hold two
await_line two 'open session'
worker=$(admin sessions | member pid)
kill -TERM "$BOX_PID"
await_log 'box state=leaving'
kill -TERM "$BOX_PID"
status=0
wait "$BOX_PID" || status=$?
is "$status" 0 "a second SIGTERM stops at once"
ended "$worker" && pass "and the workers with it" || fail "and the workers with it"

start_stub_box STUB_STUBBORN=1 --worker-stop-grace 200ms
hold three
await_line three 'open session'
kill -TERM "$BOX_PID"; await_log 'box state=leaving'; kill -TERM "$BOX_PID"
status=0
wait "$BOX_PID" || status=$?
is "$status" 0 "a worker that does not end when asked to is killed after the grace time"
logs "$BOX_LOG" 'session=1 ended .*killed by signal 9' "and that is logged"

start_stub_box
hold four
await_line four 'open session'
workers=$(pgrep -P "$BOX_PID"; spawned "$BOX_PID")
kill -KILL "$BOX_PID"
wait "$BOX_PID" 2>/dev/null || true
for worker in $workers; do
    await "end of worker $worker" ended "$worker" || fail "worker $worker survived"
done
pass "kill -9 of the supervisor takes every worker down"

start_stub_box
ok "drain by rgpuctl" admin drain
is "$(admin health | member state)" draining "the state is shown"
is "$(admin devices | member starting)" 0 "no worker is started while draining"
fails "new clients are refused" "$CLIENT" "$BOX"
ok "undrain" admin undrain
ok "and served again" "$CLIENT" "$BOX" echo hi
done_testing
