#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box with few descriptors, and a standalone box with many sessions: neither spins, fills its log nor
# ends; what it cannot serve waits or is told, and it serves again.
. "$(dirname "$0")/stub.sh"

# ---- few descriptors ----
start_stub_box
prlimit --nofile=40:40 --pid "$BOX_PID"
python3 - "$BOX" >"$TMP/flood.out" <<'PY' &
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
held = [socket.create_connection((host, int(port))) for _ in range(100)]
print("connected", flush=True)
for s in held:   # each ends: closed by the box, whose handshakes take so long at most
    s.settimeout(120)
    while True:
        try:
            if not s.recv(4096): break
        except ConnectionError: break
print("closed", flush=True)
PY
flood=$!
await "the flood" grep -q closed "$TMP/flood.out"
wait $flood || true
ok "then it serves again" "$CLIENT" "$BOX" echo hi
ok "it is the same box" kill -0 "$BOX_PID"
lines=$(wc -l <"$BOX_LOG")
ok "and has said so in few lines ($lines)" [ "$lines" -lt 1000 ]
stop "$BOX_PID"

# ---- 70 sessions at once ----
start_stub_box --max-queued 100
for i in $(seq 70); do hold "session$i"; done
for i in $(seq 70); do await_line "session$i" 'open session' || bail "session $i was not served"; done
is "$(admin sessions | wc -l)" 70 "70 sessions at once, and the box lives"
for i in $(seq 70); do release "session$i"; done
ok "it serves those who come after" "$CLIENT" "$BOX" echo hi
ok "and is the same" kill -0 "$BOX_PID"
done_testing
