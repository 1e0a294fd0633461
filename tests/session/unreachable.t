#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box that cannot be used: the program gets a result that says so, one line on standard error
# says what to do, and nothing hangs.
. "$(dirname "$0")/../lib.sh"
program=$BUILD/tests/programs/saxpy

# try LABEL: runs the program against BOX; it must end by itself with one line of explanation.
try() {
    local status=0 lines
    on_box timeout 60 "$program" >"$TMP/out" 2>"$TMP/err" || status=$?
    is $status 1 "$1: the program ends by itself with an error"
    like "$(cat "$TMP/out")" 'cuInit\(0\) gave CUDA_ERROR_(NO_DEVICE|SYSTEM_NOT_READY|NOT_PERMITTED|SYSTEM_DRIVER_MISMATCH|OPERATING_SYSTEM|UNKNOWN|NOT_INITIALIZED)' \
        "$1: cuInit says so"
    lines=$(grep -vc '^#' "$TMP/err" || true)
    is "$lines" 1 "$1: one line on standard error"
    diag "$(grep -v '^#' "$TMP/err" | head -n 3)"
}

BOX=127.0.0.1:1
try "a port where nobody listens"

start mute python3 -uc '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
held = []
while True:
    held.append(s.accept()[0])'
await_line mute || bail "no listener"
BOX=127.0.0.1:$LINE
try "a peer that says nothing"

start babbler python3 -uc '
import os, socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    try:
        c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(range(256)) * 16)
        c.recv(4096)
    except OSError:
        pass
    c.close()'
await_line babbler || bail "no listener"
BOX=127.0.0.1:$LINE
try "a peer that speaks another language"

BOX="no such host:77:88"
try "a list of boxes that is none"

unset BOX
BOX=
status=0
on_box timeout 60 "$program" >"$TMP/out" 2>"$TMP/err" || status=$?
is $status 1 "no box named at all: the program ends with an error"
like "$(cat "$TMP/out")" 'cuInit\(0\) gave CUDA_ERROR_' "no box named at all: cuInit says so"
done_testing
