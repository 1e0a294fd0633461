#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Crowds of connections that send nothing do not keep clients out, whether from one address or many.
. "$(dirname "$0")/stub.sh"

# Opens N connections from the given addresses in turn and keeps those that the box does not close.
cat >"$TMP/crowd.py" <<'E2'
import selectors, socket, sys
target, number, sources = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
host, port = target.rsplit(":", 1)
selector = selectors.DefaultSelector()
def one_more(source):
    s = socket.create_connection((host, int(port)), source_address=(source, 0))
    selector.register(s, selectors.EVENT_READ, source)
for i in range(number):
    one_more(sources[i % len(sources)])
print("crowded", flush=True)
while selector.get_map():
    for key, _ in selector.select():
        selector.unregister(key.fileobj)
        key.fileobj.close()
E2
crowd() { start "crowd$1" python3 "$TMP/crowd.py" "$BOX" "$@"; await_line "crowd$1" crowded; CROWD=$PID; }
handshakes() { admin health | member handshakes; }
served() {
    local good=0
    for _ in $(seq 10); do "$CLIENT" "$BOX" echo hi >>"$TMP/clients" 2>&1 && good=$((good + 1)); done
    [ $good = 10 ] || { tail -n 3 "$TMP/clients"; return 1; }
}

start_stub_box --handshake-timeout 600s --warm-workers 2
crowd 900 127.0.0.1
ok "beside 900 idle connections from its own address a client is served" served
stop "$CROWD" KILL
settled() { [ "$(handshakes)" = 0 ]; }
await "an empty box" settled
crowd 901 $(seq -f '127.0.0.%.0f' 2 90)
ok "beside 900 from 89 other addresses a client is served" served
least() { [ "$(handshakes)" -le 512 ]; }
ok "there are never more than max_handshakes" least
stop "$CROWD" KILL
logs "$BOX_LOG" 'too many connections in the handshake closed=[0-9]+ now=[0-9]+ last_peer=127' "the log tells of them"
lines=$(grep -c 'too many connections' "$BOX_LOG")
ok "in few lines" [ "$lines" -lt 60 ]

start_stub_box --handshake-timeout 600s --max-handshakes 1000 --max-handshakes-per-address 20
crowd 100 127.0.0.3
is "$(handshakes)" 20 "one address has no more than max_handshakes_per_address"
done_testing
