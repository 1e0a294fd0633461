#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A session from its first byte to its obituary.
. "$(dirname "$0")/stub.sh"

start_stub_box
is "$(admin health | member state)" serving "the box serves once its first worker is ready"
out=$("$CLIENT" "$BOX" echo hello)
like "$out" '^open session=1 .*snapshot="snapshot of the stub' "a client gets a worker's welcome"
like "$out" 'refused transport=shm text="only tcp here" result=0' "a worker may decline a transport"
like "$out" '^echoed' "bytes after the handshake reach the worker"
await_log 'session=1 ended .*how="exited with status 0" reason="the client closed'
pass "the log explains the end of the session"
logs "$BOX_LOG" 'session=1 transport=tcp reason="the probe said so"' \
    "the choice of transport and its reason are logged"

hold one
await_line one 'open session'
row=$(admin sessions)
is "$(member transport <<<"$row")" tcp "sessions shows the transport"
is "$(member calls <<<"$row")" 33 "sessions shows the calls"
is "$(member memory <<<"$row")" 44 "sessions shows the memory"
like "$row" '"client":"probe-client [0-9]+@' "sessions shows the client"
is "$(admin devices | wc -l)" 2 "devices lists every GPU"
is "$(admin devices | member sessions)" 1 "devices counts the sessions of a GPU"
worker=$(member pid <<<"$row")
release one
await "the worker's end" ended "$worker"
pass "a killed client takes its worker with it"
table_is_empty() { [ "$(admin sessions | wc -l)" = 0 ]; }
ok "and its row leaves the table" await "an empty table" table_is_empty

answer=$(python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"nonsense\n")
print(s.makefile().read())' "$ADMIN")
like "$answer" '"error":"unknown command; known: sessions' "an unknown command is answered with the known ones"
"$CLIENT" "$BOX" send a closed >/dev/null
await_log 'how="killed by signal 6 \(Aborted\).*" reason="the worker died without a word"'
pass "a crashed worker gets an obituary with its signal"
"$CLIENT" "$BOX" send x closed >/dev/null
await_log 'how="exited with status 3"'
pass "a worker that exits by itself gets one with its status"
for i in 1 2 3 4; do start flood$i "$CLIENT" "$BOX" send "!" closed; done
await "the floods" log_has 'session=[0-9]+ begins'
ok "others are served while workers flood rgpud with messages" "$CLIENT" "$BOX" echo hi
for i in 1 2 3 4; do wait "${line_pid[flood$i]}" || true; done
all_ended() { [ "$(grep -c 'how="killed by signal 9 (Killed)" reason="flooded rgpud with messages"' "$BOX_LOG")" = 4 ]; }
ok "and each that floods is ended with that reason" await "four obituaries" all_ended
"$CLIENT" "$BOX" send % closed >/dev/null
await_log 'how="killed by signal 9 \(Killed\)" reason="flooded rgpud with output"'
pass "so is one that writes without end"
[ "$(grep -c 'rgpu-worker: info: chatter' "$BOX_LOG")" -lt 200000 ] && pass "which does not fill the log" ||
    fail "which does not fill the log"
"$CLIENT" "$BOX" send m closed >/dev/null
await_log 'broke the protocol error='
pass "a worker that sends garbage is ended"
"$CLIENT" "$BOX" send r closed >/dev/null
await_log 'broke the protocol error="Protocol error"'
pass "a worker that speaks out of turn is ended"
two_out_of_turn() { [ "$(grep -c 'broke the protocol error="Protocol error"' "$BOX_LOG")" = 2 ]; }
start hidden "$CLIENT" "$BOX" send u closed
ok "so is one that would hide its session from all lists by a transport whose name is no text" await "its end" two_out_of_turn
stop "$PID"
ok "the next client is served all the same" "$CLIENT" "$BOX" echo fine
done_testing
