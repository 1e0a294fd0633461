#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients beyond the warm workers are served in the order in which they came, as many contexts are made at once as is
# said and no more, and the pool is filled up again only after them.
. "$(dirname "$0")/stub.sh"
device_is() { [ "$(admin devices | member "$1")" = "$2" ]; }
health_is() { [ "$(admin health | member "$1")" = "$2" ]; }
let_one_start() { printf g >&$gate; }
begun() { sed -n 's/.*session=[0-9]* begins.*client="probe-client \([0-9]*\)@.*/\1/p' "$BOX_LOG" | tr '\n' ' '; }

mkfifo -m 666 "$TMP/gate"
exec {gate}<>"$TMP/gate"
launch_stub_box STUB_GATE="$TMP/gate" --warm-workers 3 --parallel-starts 2 --refill-timeout 1h --busy-processors 100000
let_one_start
await_stub_box
await "two at once" device_is starting 2
pass "workers for clients to come are started as many at once as is said"
let_one_start
let_one_start
await "three warm workers" device_is warm 3
pass "until there are as many as are wanted"

# Three have the warm ones, five wait.
for name in a b c d e f g h; do
    hold $name
    came="${came:-}$(hold_pid $name) "
    case $name in
    [abc]) await_line $name 'open session' ;;
    *) waiting=$((${waiting:-0} + 1)) && await "$name in the queue" health_is queued $waiting ;;
    esac
done
await "their workers" device_is starting 2
pass "for five that wait two contexts are made at once"
is "$(admin devices | member held)" "clients wait for workers of their own" \
    "none is made meanwhile for clients to come"
for served in 4 5 6 7; do
    let_one_start
    await "session $served" health_is sessions_total $served
    await "the next ones" device_is starting $((served < 7 ? 2 : 1))
done
pass "one after the other, and then one for the last"
let_one_start
await "the last session" health_is sessions_total 8
is "$(begun)" "$came" "they are served in the order in which they came"

await "what holds it back" device_is held "many clients came at once"
is "$(admin devices | member starting)" 0 "the pool is not filled up while a crowd is served"
for name in a b c d e f g h; do release $name; done
await "two at once" device_is starting 2
pass "and is when they have left"
done_testing
