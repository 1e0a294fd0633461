#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A session over tcp that copies much spreads large payloads over several connections: as many as box and program allow,
# each proved and protected as the first. One that ends is made again, or is the end of all.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tickets.sh"
MARK=this-text-must-not-be-seen-on-the-way.
program=("$BUILD/tests/wide-copies" "$MARK")

wide() { on_box RGPU_TRANSPORT=tcp RGPU_TCP_CONNECTIONS="$1" "${program[@]}" "${@:2}" 2>"$TMP/err"; }
start_box --devices sim:1 --tcp-connections 3
is "$(wide 3 3)" "copied connections=3" "three connections carry what is copied, and nothing changes on the way"
logs "$BOX_LOG" 'session=1 has one more connection of=its client' "the box's log names them"
is "$(wide 8 3)" "copied connections=3" "a program that wants more has as many as the box offers"
is "$(wide 1 1)" "copied connections=1" "and one that wants one has one"
is "$(wide nine 1 | cut -c 1-6)" copied "a word that is no number is no error"
like "$(cat "$TMP/err")" 'RGPU_TCP_CONNECTIONS is not a number from 1 to 8' "but told"
is "$(wide 3 3 cut | tail -n 1)" "cut result=0 then=0" "where one of them is cut another one takes its place"
is "$(RGPU_RECONNECT=0 wide 3 3 cut | tail -n 1)" "cut result=46 then=46" "with RGPU_RECONNECT=0 the session is lost, and says so to every call"
like "$(cat "$TMP/err")" 'the peer has gone' "and why"

reported_losses() {
    for _ in {1..20}; do on_box RGPU_TRANSPORT=tcp RGPU_LOG=info "$BUILD/tests/programs/saxpy" 2>&1; done | grep -c ' is lost' || true
}
is "$(reported_losses)" 0 "a program that ends reports no connection as lost"

start_ticket_box --tcp-connections 3
record() {
    start "relay-$1" python3 "$TOP/tests/session/record.py" "$BOX" "$TMP/record-$1"
    await_line "relay-$1" '^127'
    with_ticket "$(ticket_for "$LINE")" RGPU_TRANSPORT=tcp RGPU_PROTECTION="$1" RGPU_TCP_CONNECTIONS=3 \
        "${program[@]}" 3 2>"$TMP/err" || true
}
seen() { grep -c -a -F "$MARK" "$TMP/record-$1" || true; }
is "$(record authenticate)" "copied connections=3" "a session with a ticket has three"
isnt_zero() { [ "$1" != 0 ]; }
ok "whose data pass as they are" isnt_zero "$(seen authenticate)"
is "$(record privacy)" "copied connections=3" "a session under privacy has three"
is "$(seen privacy)" 0 "and nothing can be seen on any of them"

start_box --devices sim:1 --tcp-connections 1
is "$(wide 3 1)" "copied connections=1" "a box that offers no more has one"
done_testing
