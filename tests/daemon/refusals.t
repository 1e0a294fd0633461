#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that can go wrong while a session is opened gives its own result and says what to do.
. "$(dirname "$0")/stub.sh"

out=$("$CLIENT" 127.0.0.1:1 || true)
like "$out" 'error result=100 box 127.0.0.1:1 refuses connections: is rgpud running' "nobody listens"
out=$("$CLIENT" no-such-host.invalid:7300 || true)
like "$out" 'error result=100 cannot find box no-such-host.invalid:7300.*RGPU_BOXES' "no such host"

# A listener that never answers, and one that speaks something else.
start silent python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
c = [s.accept() for _ in range(9)]'
await_line silent '^[0-9]+$'
start patient env RGPU_CONNECT_TIMEOUT=1h "$CLIENT" "127.0.0.1:$LINE"
out=$(RGPU_CONNECT_TIMEOUT=300ms "$CLIENT" "127.0.0.1:$LINE" || true)
like "$out" 'error result=802 .*went silent during the greeting.*RGPU_CONNECT_TIMEOUT' "a silent box"
ok "who asked for a longer time-out still waits" kill -0 "$PID"
stop "$PID"
start other python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]; c.recv(9); c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")'
await_line other '^[0-9]+$'
out=$("$CLIENT" "127.0.0.1:$LINE" || true)
like "$out" 'error result=802 .*does not speak the rgpu protocol.*check the port' "another protocol"

start_stub_box
out=$("$BUILD/tests/hostile-client" "$BOX" future || true)
like "$out" 'refused code=version result=803 .*rgpu 0 and speaks protocol version 99, box [a-z0-9-]+ is of rgpu [^ ]+ and speaks version [0-9]+: upgrade rgpu-box on' \
    "a client of another version is told both, and which end is to be upgraded"
logs "$BOX_LOG" 'client refused .*code=version reason="the client library on hostile is of rgpu 0 .* upgrade rgpu-box on' \
    "and so is the box's log"
out=$("$BUILD/tests/hostile-client" "$BOX" ancient-and-future || true)
version=$(awk '/^protocol control/ { print $3 }' "$TOP/proto/control.spec")
like "$out" "answered version=$version" "a newer client that still speaks ours is served in ours"

cat >"$TMP/hex" <<<"k1 $(printf '%064d' 7)"
chmod 600 "$TMP/hex"
start_stub_box --auth ticket --key-file "$TMP/hex"
out=$("$CLIENT" "$BOX" || true)
like "$out" 'error result=800 .*asks for a ticket: take a lease .*set RGPU_TICKET_FILE' "no ticket"
out=$(RGPU_TICKET="stub 127.0.0.1:1 aaaa.bbbb.cccc" "$CLIENT" "$BOX" || true)
like "$out" 'error result=800 ' "a damaged ticket"
chmod 644 "$TMP/hex"
launch_stub_box --auth ticket --key-file "$TMP/hex"
status=0; wait "$BOX_PID" || status=$?
is "$status" 2 "a key that others can read is refused at the start"
logs "$BOX_LOG" 'key_file=.*0600' "and the log says what to do"
done_testing
