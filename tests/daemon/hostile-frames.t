#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Malformed, truncated, oversized and out-of-order frames: refused or dropped, everyone else untouched.
. "$(dirname "$0")/stub.sh"

start_stub_box --handshake-timeout 1h
hold bystander
await_line bystander 'open session'
hostile() { "$BUILD/tests/hostile-client" "$BOX" "$1" || true; }
like "$(hostile garbage)" 'refused code=protocol' "garbage"
like "$(hostile http)" 'refused code=protocol' "another protocol"
like "$(hostile bad-magic)" 'refused code=protocol' "a wrong magic number"
like "$(hostile oversized)" 'refused code=protocol' "an oversized frame, on its header alone"
like "$(hostile short-body)" 'refused code=protocol' "a body too short for its fields"
like "$(hostile long-string)" 'refused code=protocol' "a string over its limit"
like "$(hostile control-characters)" 'refused code=protocol' "control characters in a text"
like "$(hostile reply-first)" 'refused code=protocol' "a message of the box before HELLO"
like "$(hostile hello-twice)" 'refused code=protocol' "HELLO twice"
like "$(hostile worker-message)" 'refused code=protocol' "a message of the worker's protocol"
version=$(awk '/^protocol control/ { print $3 }' "$TOP/proto/control.spec")
like "$(hostile meet)" 'refused code=authentication .*only processes of a lease meet' "processes that meet without a lease"
like "$(hostile extended-hello)" "answered version=$version" "a longer HELLO, as a newer client sends it, is fine"
like "$(hostile truncated)" 'closed' "a frame cut off in the middle"
like "$(hostile reset)" 'gone' "a reset connection"
[ -d "/proc/$BOX_PID" ] && pass "the supervisor is untouched" || fail "the supervisor died"
ok "and serves" "$CLIENT" "$BOX" echo hi
one_session() { [ "$(admin sessions | wc -l)" = 1 ]; }
await "the end of other sessions" one_session
like "$(admin sessions)" '"session":1,' "the bystander's session goes on"
unlike "$(cat "$BOX_LOG")" 'code=protocol.*state=queued' "none of them got near a worker"
is "$(admin health | member handshakes)" 0 "nothing is left of them"

start_stub_box --handshake-timeout 1s
like "$(hostile silent)" 'refused code=timeout' "silence"
like "$(hostile slow)" 'refused code=timeout' "a byte at a time does not extend the time of the handshake"
done_testing
