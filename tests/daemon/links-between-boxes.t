#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The links of the workers' own between two boxes: who gets one, what protects it, what administrators see of it, and its
# end.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/tickets.sh"
. "$TOP/tests/session/programs.sh"
requires openssl
PEERS=$BUILD/tests/programs/peers
MARK=this-text-must-not-be-seen-on-the-way.

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# Neither shares memory with anybody. Other boxes reach the second one by a relay, which writes down what passes; clients
# reach it as it is.
# start_pair [rgpud arguments]: sets BOTH, tickets for the two, and ADMINS, LOGS, PIDS, RELAY.
start_pair() {
    local port
    start_ticket_box --name first --transports tcp "$@"
    ADMINS=("$ADMIN") LOGS=("$BOX_LOG") PIDS=("$BOX_PID")
    BOTH=$(ticket_for "$BOX" "$TMP/box.key" first)
    port=$(free_port)
    start "relay$boxes" python3 "$TOP/tests/session/record.py" "127.0.0.1:$port" "$TMP/record$boxes"
    RECORD=$TMP/record$boxes RELAY=$PID
    await_line "relay$boxes" '^127'
    start_ticket_box --name second --transports tcp --listen "127.0.0.1:$port" --announce "$LINE" "$@"
    ADMINS+=("$ADMIN") LOGS+=("$BOX_LOG") PIDS+=("$BOX_PID")
    BOTH+=$'\n'$(ticket_for "$BOX" "$TMP/box.key" second)
}
run=(with_both RGPU_LOG=info)
with_both() { with_ticket "$BOTH" "$@"; }
links() { "$BUILD/bin/rgpuctl" sessions --socket "${ADMINS[$1]}" --json; }
seen() { grep -c -a -F $MARK "$RECORD" || true; }
passed() { [ "$(stat -c %s "$RECORD")" -gt $((4 << 20)) ]; }

start_pair
run_program "boxes with tickets" "$PEERS" text $MARK
like "$(cat "$TMP/program.err")" 'copies between boxes .* by=tcp' "have a link of their own"
ok "the data pass there" [ "$(seen)" -gt 0 ]

start_pair --protection privacy
run_program "privacy" "$PEERS" text $MARK
like "$(cat "$TMP/program.err")" 'copies between boxes .* by=tcp' "privacy: a link of their own"
ok "privacy: the data pass there" passed
is "$(seen)" 0 "privacy: and nothing of them can be seen"

# endless NAME LOST STREAM: copies without end.
endless() {
    mkfifo "$TMP/$1.fifo"
    exec {answer}<>"$TMP/$1.fifo"
    start "$1" env -u RGPU_BOXES LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$BOTH" RGPU_LOG=error \
        sh -c "exec '$PEERS' lost $2 $3 <'$TMP/$1.fifo'"
    await_line "$1" '^# copies' || bail "the program does not come to its copies"
    echo gone >&$answer
}
told() { links "$1" | grep -q "\"links\":\"$2(.* by tcp"; }
endless cut 1 0
for end in "0 second" "1 first"; do
    # shellcheck disable=SC2086
    ok "rgpuctl sessions tells of the link to box ${end#* }" await "the link in the list" told $end
done
kill -KILL "$RELAY"
ok "the link is cut: copies fail" await_line cut '^ok 1 '
logs "$TMP/cut.log" 'a copy between boxes has failed.* box=first.* other=second' "the log names the other box"
logs "${LOGS[0]}" 'the link with box="second.*is down' "so does the box's"

start_pair
served() { links "$1" | grep -q .; }
idle() { ! served 0 && ! served 1; }
endless killed 1 0
kill -KILL "${line_pid[killed]}"
ok "a client is killed while two boxes are busy for it: its sessions end" await "two idle boxes" idle
run_program "and the boxes serve the next one" "$PEERS" text $MARK

endless revoked 1 0
kill -TERM "${PIDS[1]}"
await "the box to leave" grep -q 'box state=leaving' "${LOGS[1]}"
kill -TERM "${PIDS[1]}"
ok "one box ends its sessions: copies fail" await_line revoked '^ok 1 '
logs "$TMP/revoked.log" 'a copy between boxes has failed.* other=second' "and the log names the box"

start_pair --peer-links=no
run_program "peer_links=no" "$PEERS" text $MARK
like "$(cat "$TMP/program.err")" 'by=client reason="peer_links=no on box second"' "copies go by way of the client, for a reason that is told"
is "$(seen)" 0 "and not by the boxes"

# Somebody who was not told the token.
start_box --devices sim:1
probe() {
    timeout 10 openssl s_client -connect "$BOX" -tls1_3 -psk_identity "$1" -psk "$(printf '%064d' 1)" \
        </dev/null 2>&1 || true
}
endless_box=$BOX
unlike "$(probe rgpu-peer:0000000000000001:00000001)" 'PSK.*TLS_|Reused, TLS' "nobody is taken for a caller who is not expected"
start_box --devices sim:1
BOTH= BOXES=$endless_box,$BOX
run=(on_box RGPU_LOG=info)
run_program "and the box goes on" "$PEERS" text $MARK
like "$(cat "$TMP/program.err")" 'copies between boxes .* by=shm' "boxes without tickets have links as well"
done_testing
