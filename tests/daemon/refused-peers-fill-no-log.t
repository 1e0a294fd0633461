#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Peers that the box refuses again and again leave some lines in its log, not one each.
. "$(dirname "$0")/stub.sh"

start_stub_box
python3 - "$BOX" <<'PY'
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
for number in range(300):
    connection = socket.create_connection((host, int(port)))
    connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
    try:
        while connection.recv(4096):
            pass
    except OSError:
        pass
PY
lines=$(grep -c 'client refused' "$BOX_LOG")
ok "three hundred refusals leave $lines lines" test "$lines" -ge 1 -a "$lines" -le 40
ok "and a client is served" "$CLIENT" "$BOX" echo hi
done_testing
