#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease whose processes come one after the other keeps no other lease from a full box.
. "$(dirname "$0")/stub.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_stub_box --auth ticket --key-file "$TMP/box.key" --name stubbox --max-sessions-per-gpu 1
queued_is() { [ "$(admin health | member queued)" = "$1" ]; }
# hold_as LEASE NAME
hold_as() {
    RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" stubbox 3600 "lease=$1" shared=1048576 \
        GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1)
    export RGPU_TICKET
    hold "$2"
}

hold_as many first
await_line first 'open session'
for i in 1 2 3; do
    hold_as many "waits$i"
    await "waiting client $i" queued_is "$i"
done
hold_as one other
await "the other lease's client" queued_is 4
release first
await_line other 'open session'
pass "the client of another lease is served before those that came earlier"
release other
await_line waits1 'open session'
pass "then they are, in their order"
release waits1
await_line waits2 'open session'
pass "one after the other"
done_testing
