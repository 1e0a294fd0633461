#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What one process of a lease says by a name, the others hear: all of them, no others, and as long as it stands there.
. "$(dirname "$0")/stub.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_stub_box --auth ticket --key-file "$TMP/box.key" --name stubbox --max-handshakes-per-address 1000
ticket() { "$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" stubbox 3600 "lease=$1" GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1; }
pass_on "$BUILD/tests/rendezvous" "$BOX" "$(ticket one)" "$(ticket two)"
nobody_meets() { [ "$(admin health | member rendezvous)" = 0 ]; }
await "that nothing is left of it" nobody_meets
pass "nothing is left of it"
ok "the box serves as before" env RGPU_TICKET="$(ticket one)" "$CLIENT" "$BOX" echo hi
done_testing
