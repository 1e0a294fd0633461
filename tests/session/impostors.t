#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that holds a ticket computes on no box but the ticket's, whoever answers at its address.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tickets.sh"
requires openssl
program=$BUILD/tests/programs/saxpy

start_ticket_box
ok "the box of the ticket serves" with_ticket "$(ticket_for "$BOX")" "$program"

refused() { # refused TICKET WHAT
    local status=0
    with_ticket "$1" "$program" >"$TMP/out" 2>"$TMP/err" || status=$?
    is "$status" 1 "$2: the program gets no GPU"
    like "$(cat "$TMP/err")" 'does not prove that it is box gpubox of the ticket' "and is told why"
}
refused "$(ticket_for "$BOX" "$TMP/other.key")" "a box with another key"
logs "$BOX_LOG" 'client refused .*code=authentication reason="the client does not prove' "as the box says too"

start_box --name gpubox
refused "$(ticket_for "$BOX")" "an rgpud --standalone that says the right name"
unlike "$(cat "$BOX_LOG")" 'session=1 begins' "which has had no session"
status=0
on_box RGPU_PROTECTION=authenticate "$program" >"$TMP/out" 2>"$TMP/err" || status=$?
is "$status" 1 "a program that asks for protection and has no ticket gets no GPU there"
like "$(cat "$TMP/err")" 'RGPU_PROTECTION=authenticate needs a ticket' "and is told why"

openssl req -x509 -newkey ed25519 -nodes -subj /CN=gpubox -keyout "$TMP/tls.key" -out "$TMP/tls.pem" 2>"$TMP/req"
start server sh -c 'exec openssl s_server -accept 127.0.0.1:0 -tls1_3 -cert "$1" -key "$2" <"$3"' sh "$TMP/tls.pem" "$TMP/tls.key" "$TMP/never"
await_line server '^ACCEPT 127.0.0.1:[0-9]+'
refused "$(ticket_for "${LINE#ACCEPT }")" "a TLS server with a certificate of that name"

ticket=$(ticket_for 127.0.0.1:1)
start other-key python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0)); print("127.0.0.1:%d" % s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]; c.recv(9); c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"); c.close()'
await_line other-key '^127'
refused "$(ticket_for "$LINE")" "a server that speaks something else"
done_testing
