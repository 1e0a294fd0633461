#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What travels between program and box is protected as the strictest of box, ticket and program asks.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tickets.sh"
program=$BUILD/tests/programs/saxpy
MARK=this-text-must-not-be-seen-on-the-way.

# protection TICKET [NAME=value...]: what the program's session has, as the client and the box say.
protection() {
    local opened
    opened=$(with_ticket "$@" RGPU_LOG=info "$program" 2>&1 >/dev/null |
        sed -n 's/.*session opened .*protection=\([a-z]*\) .*/\1/p')
    echo "$opened/$(sed -n 's/.* begins .*protection=\([a-z]*\) .*/\1/p' "$BOX_LOG" | tail -n 1)"
}

for box in authenticate privacy; do
    start_ticket_box --protection $box
    for ticket in authenticate privacy; do
        for client in '' authenticate privacy; do
            want=authenticate
            case "$box$ticket$client" in *privacy*) want=privacy ;; esac
            is "$(protection "$(TICKET_PROTECTION=$ticket ticket_for "$BOX")" ${client:+RGPU_PROTECTION=$client})" \
                "$want/$want" "box: $box, ticket: $ticket, program: ${client:-says nothing}: $want"
        done
    done
done
status=0
with_ticket "$(ticket_for "$BOX")" RGPU_PROTECTION=secrecy "$program" >"$TMP/out" 2>&1 || status=$?
is "$status" 1 "a word that does not exist is an error"
like "$(cat "$TMP/out")" 'RGPU_PROTECTION is not one of authenticate, privacy' "which names the choices"

start_ticket_box
# record PROTECTION: copies through a recorder; what passed is in $TMP/record-PROTECTION.
record() {
    start "relay-$1" python3 "$TOP/tests/session/record.py" "$BOX" "$TMP/record-$1"
    await_line "relay-$1" '^127'
    with_ticket "$(ticket_for "$LINE")" RGPU_TRANSPORT=tcp RGPU_PROTECTION="$1" RGPU_LOG=info \
        "$BUILD/tests/copy-pattern" $MARK 2>"$TMP/err" || true
}
seen() { grep -c -a -F $MARK "$TMP/record-$1" || true; }
is "$(record authenticate)" copied "protection=authenticate: copies over tcp are right"
isnt_zero() { [ "$1" != 0 ]; }
ok "and pass as they are" isnt_zero "$(seen authenticate)"
is "$(record privacy)" copied "protection=privacy: copies over tcp are right"
is "$(seen privacy)" 0 "and nothing of them can be seen"
size=$(stat -c %s "$TMP/record-privacy")
ok "though they passed" [ "$size" -gt $((16 << 20)) ]
like "$(cat "$TMP/err")" 'protection=privacy transport=tcp' "the client says which transport it took"
logs "$BOX_LOG" 'data are encrypted by=(worker|kernel)' "the box says who encrypts"

status=0
with_ticket "$(ticket_for "$BOX")" RGPU_TRANSPORT=rdma RGPU_PROTECTION=privacy "$program" >"$TMP/out" 2>&1 || status=$?
is "$status" 1 "privacy leaves no RDMA"
like "$(cat "$TMP/out")" 'RGPU_TRANSPORT=rdma, but no rdma: protection=privacy, and RDMA sends data as they are' "and the reason is told"
logs "$BOX_LOG" 'no rdma reason="protection=privacy' "on both sides"
like "$(with_ticket "$(ticket_for "$BOX")" RGPU_PROTECTION=privacy RGPU_LOG=info "$program" 2>&1)" \
    'protection=privacy transport=shm' "shared memory on one host needs none of it"

hold() { with_ticket "$(ticket_for "$BOX")" RGPU_TRANSPORT=tcp RGPU_PROTECTION=privacy "$BUILD/tests/hold-memory"; }
export -f with_ticket ticket_for preload_for_sanitizers hold
export BUILD TMP BOX GPU
start holder bash -c hold
await_line holder '^holding'
like "$("$BUILD/bin/rgpuctl" sessions --socket "$ADMIN")" 'PROTECTION' "rgpuctl sessions has a column for it"
like "$("$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json)" '"protection":"privacy","transport":"tcp"' "that says what a session has"

status=0
"$BUILD/bin/rgpud" --standalone --devices sim:1 --protection privacy >"$TMP/out" 2>&1 || status=$?
is "$status" 2 "a box without tickets cannot demand it"
like "$(cat "$TMP/out")" 'protection=privacy needs auth=ticket' "and says so"
done_testing
