#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A full box makes clients wait; it turns away only those who are too many for their lease or the queue.
. "$(dirname "$0")/stub.sh"
queued() { [ "$(admin health | member queued)" = "${1:-1}" ]; }

start_stub_box --max-sessions 1
hold first
await_line first 'open session'
start second "$CLIENT" "$BOX" echo hi
await "the second client waits" queued
is "$(admin sessions | wc -l)" 1 "max_sessions holds"
release first
await_line second 'echoed'
pass "the next client is served when a session ends"

start_stub_box --max-sessions-per-gpu 1 --warm-workers 2
hold one
await_line one 'open session'
start two "$CLIENT" "$BOX" echo hi
await "the second client waits" queued
is "$(admin sessions | wc -l)" 1 "max_sessions_per_gpu holds"
release one
await_line two 'echoed'
pass "the next client is served when the GPU's session ends"

start_stub_box --max-sessions 1 --max-queued 2
hold front
await_line front 'open session'
start waits1 "$CLIENT" "$BOX" echo hi
start waits2 "$CLIENT" "$BOX" echo hi
await "two clients wait" queued 2
like "$("$CLIENT" "$BOX" echo hi || true)" 'error result=802 .*2 clients of the box already wait for this box' "max_queued turns further ones away"
release front
await_line waits1 'echoed'
await_line waits2 'echoed'
pass "those who waited are served"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_stub_box --auth ticket --key-file "$TMP/box.key" --name stubbox --max-sessions-per-lease 2
ticket() { "$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" stubbox 3600 "$@" GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1; }
RGPU_TICKET=$(ticket shared=536870912)
export RGPU_TICKET
hold lease1
hold lease2
await_line lease1 'open session'
await_line lease2 'open session'
like "$("$CLIENT" "$BOX" echo hi || true)" 'error result=802 .*lease lease-1 has as many sessions on this box as max_sessions_per_lease allows \(2\)' \
    "max_sessions_per_lease turns the third session of a lease away"
RGPU_TICKET=$(ticket lease=lease-2 shared=536870912)
ok "and nobody of another lease" "$CLIENT" "$BOX" echo hi

start_stub_box --auth ticket --key-file "$TMP/box.key" --name stubbox --max-sessions 1 --max-queued 4
RGPU_TICKET=$(ticket lease=many shared=536870912)
hold many1
await_line many1 'open session'
hold many2
hold many3
await "two clients of the lease wait" queued 2
like "$("$CLIENT" "$BOX" echo hi || true)" 'error result=802 .*2 clients of the lease already wait for this box' \
    "a lease has half of max_queued"
RGPU_TICKET=$(ticket lease=other shared=536870912)
hold other
await "a client of another lease waits beside them" queued 3
release many1
await_line other 'open session'
pass "and is served"
done_testing
