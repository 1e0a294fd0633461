#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Who waits for news may hang up at any time: the broker goes on.
. "$(dirname "$0")/broker.sh"
start_broker

# reader: asks for events to come, waits until the broker has read that, and hangs up.
reader() {
    python3 - "$BROKER_SOCKET" <<'END'
import socket, sys
channel = socket.socket(socket.AF_UNIX)
channel.connect(sys.argv[1])
channel.sendall(b"GET /v1/events?after=1000000&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
other = socket.socket(socket.AF_UNIX)
other.connect(sys.argv[1])
other.sendall(b"GET /v1/gpus HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
while other.recv(4096):
    pass
channel.close()
END
}
for _ in 1 2 3; do ok "somebody waits for events and hangs up" reader; done
ok "the broker answers" api GET /v1/gpus
ok "and is the same one" kill -0 "$BROKER_PID"
done_testing
