#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What rgpud tells the service manager.
. "$(dirname "$0")/stub.sh"

start manager python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print("bound", flush=True)
while True:
    print(" ".join(s.recv(4096).decode().split("\n")), flush=True)' "$TMP/notify"
await_line manager bound
start_stub_box NOTIFY_SOCKET="$TMP/notify" WATCHDOG_USEC=200000
await_line manager 'READY=1 STATUS=serving, 2 devices' && pass "ready"
await_line manager 'WATCHDOG=1' && pass "the watchdog is fed"
kill -HUP "$BOX_PID"
await_line manager 'RELOADING=1 MONOTONIC_USEC=[0-9]+' && pass "reloading"
await_line manager 'READY=1' && pass "ready again"
kill -TERM "$BOX_PID"
await_line manager 'STOPPING=1' && pass "stopping"
done_testing
