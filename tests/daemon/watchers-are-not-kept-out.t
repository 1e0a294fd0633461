#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Strangers who connect with the exporter and say nothing, or a byte at a time, keep no monitoring out; nor does the
# daemon spin or fill its log when it has no descriptor for one more.
. "$(dirname "$0")/stub.sh"

start_stub_box --metrics-listen 127.0.0.1:0
exporter() { sed -n 's/.*figures for Prometheus .* port=\([0-9]*\).*/\1/p' "$BOX_LOG"; }
await "the exporter" grep -q 'figures for Prometheus' "$BOX_LOG"
port=$(exporter)
cat >"$TMP/crowd.py" <<'PY'
import signal, socket, sys
held = []
for _ in range(int(sys.argv[2])):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    try:
        connection.send(b"G")
    except OSError:
        pass
    held.append(connection)
print("crowded", flush=True)
signal.pause()
PY
descriptors() { ls "/proc/$BOX_PID/fd" | wc -l; }
used=$(descriptors)
start crowd python3 "$TMP/crowd.py" "$port" 100
await_line crowd crowded
scrape() { web "http://127.0.0.1:$port/metrics"; }
like "$(scrape 2>&1 || true)" '^rgpu_box_serving 1' "beside a hundred that never end their question one is answered"
like "$(scrape 2>&1 || true)" '^rgpu_box_serving 1' "and again"
stop "$PID" KILL

# A name that an attacker has made resolve to this address.
status_for() {
    python3 - "$port" "$1" <<'PY'
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("GET", "/metrics", headers={"Host": sys.argv[2]})
print(connection.getresponse().status)
PY
}
is "$(status_for evil.example:$port)" 421 "a request for another host's name is refused"
is "$(status_for "localhost:$port") $(status_for "$(hostname)") $(status_for '[::1]:80')" "200 200 200" \
    "one for this host's names and for addresses is answered"

crowd_is_gone() { [ "$(descriptors)" -le "$used" ]; }
await "the end of the crowd's connections" crowd_is_gone
prlimit --nofile=$((used + 4)):$((used + 4)) --pid "$BOX_PID"
start crowd2 python3 "$TMP/crowd.py" "$port" 40
await_line crowd2 crowded
ok "without a descriptor for one more it says so" await "the line" grep -q 'cannot accept who asks' "$BOX_LOG"
stop "$PID" KILL
answered() { scrape | grep -q '^rgpu_box_serving 1'; }
ok "and answers when there are some again" await "an answer" answered
is "$(grep -c -e 'cannot accept who asks' -e 'Too many open files' "$BOX_LOG")" 1 "with one line in its log"
done_testing
