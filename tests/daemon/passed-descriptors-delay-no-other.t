#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A worker passes descriptors whose close blocks for an hour. rgpud ends the worker, and closes the descriptors of all others
# as before.
. "$(dirname "$0")/stub.sh"

cat >"$TMP/peer.py" <<'PY'
import socket
server = socket.create_server(("127.0.0.1", 0))
print("port", server.getsockname()[1], flush=True)
held = []
while True:
    held.append(server.accept())
PY
start peer python3 "$TMP/peer.py"
await_line peer '^port ([0-9]+)'
start_stub_box "STUB_PEER=${BASH_REMATCH[1]}"
descriptors() { ls "/proc/$BOX_PID/fd" | wc -l; }
warm() { [ "$(admin devices | member warm)" = 1 ]; }
is_down_to() { warm && [ "$(descriptors)" -le "$1" ]; }
"$CLIENT" "$BOX" echo hi >/dev/null
await "a warm worker" warm
before=$(descriptors)

"$CLIENT" "$BOX" send "^" closed >/dev/null
await_log 'passes a descriptor that is no memory of a GPU'
await_log 'session=2 ended .*reason="broke the protocol with rgpud"'
pass "a worker that passes a socket as memory is ended"
"$CLIENT" "$BOX" send "*" closed >/dev/null
await_log 'session=3 ended .*reason="broke the protocol with rgpud"'
pass "and so is one that passes more than there may be"
for _ in 1 2 3 4 5 6 7 8; do "$CLIENT" "$BOX" echo hi; done >/dev/null
ok "descriptors of others are closed while these nine block" await "closed descriptors" is_down_to $((before + 9))
stop "${line_pid[peer]}" KILL
ok "and these are closed, too, when nothing holds them any more" await "closed descriptors" is_down_to "$before"
done_testing
