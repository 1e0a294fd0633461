#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box that asks for tickets grants exactly the GPUs of the ticket, in the ticket's order.
. "$(dirname "$0")/stub.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_stub_box --auth ticket --key-file "$TMP/box.key" --name stubbox
ticket() { RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" "$@"); export RGPU_TICKET; }

ticket stubbox 3600 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1
hold one
await_line one 'open session'
like "$(admin sessions)" '"lease":"lease-1","devices":\["GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"\]' \
    "the session has the ticket's GPU and lease"
logs "$BOX_LOG" 'session=1 begins .*device=GPU-a1a1' "the worker was warm on that GPU"
ok "a second process may use the same ticket at once" "$CLIENT" "$BOX" echo hi
is "$(admin devices | member warm)" 1 "every GPU has warm workers where tickets choose"
release one

ticket stubbox 3600 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1 GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0
hold two
await_line two 'open session'
like "$(admin sessions)" '"devices":\["GPU-a1a1[-a-f0-9]*","GPU-a0a0' "GPUs come in the ticket's order"
release two

ticket otherbox 3600 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1
like "$("$CLIENT" "$BOX" || true)" 'error result=800 box .* calls itself stubbox, the ticket is for otherbox' "another box's ticket"
ticket stubbox -3600 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1
like "$("$CLIENT" "$BOX" || true)" 'error result=800 box .*the ticket is not accepted' "an expired ticket"
ticket stubbox 3600 GPU-ffffffff-ffff-ffff-ffff-ffffffffffff
like "$("$CLIENT" "$BOX" || true)" 'error result=100 box .*GPU-ffffffff.* not offered by this box' "a GPU that is not here"
printf 'k1 %064d\n' 8 >"$TMP/other.key"
chmod 600 "$TMP/other.key"
RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/other.key" "$BOX" stubbox 3600 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1)
export RGPU_TICKET
like "$("$CLIENT" "$BOX" || true)" 'error result=800 what answers .* does not prove that it is box stubbox' "a ticket signed with another key"
await_log 'code=authentication reason="the client does not prove that it has the ticket of lease lease-1'
pass "the box says why in its log"
cp "$TMP/other.key" "$TMP/box.key"
kill -HUP "$BOX_PID"
await_log 'settings reloaded'
ok "keys are read anew on a reload" "$CLIENT" "$BOX" echo hi

start_stub_box --auth ticket --key-file "$TMP/other.key" --name fullbox --clock-skew 0 --max-sessions-per-gpu 1
RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/other.key" "$BOX" fullbox 3600 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1)
hold three
await_line three 'open session'
RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/other.key" "$BOX" fullbox 3 GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1)
like "$(timeout 60 "$CLIENT" "$BOX" || true)" 'error result=800 .*the ticket is not accepted.*expired' \
    "a ticket that expires while its client waits for a worker opens no session"
release three
done_testing
