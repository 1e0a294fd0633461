#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whoever sits at the broker's address without its key ends no session: a box obeys proven answers
# only, and says what it does not believe. A box is believed under its own name alone, and where it is.
. "$(dirname "$0")/broker.sh"

start_broker
start_pool_box box1
signed() { python3 "$TOP/tests/broker/signed.py" "$BROKER" "$@"; }
status_of() { signed "$@" | sed -n 1p; }

lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
id=$(at lease.id <<<"$lease")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
hold victim
await_line victim 'open session'

# ---- the broker, by its answers ----

await "a second after the broker's start" eval '[ "$(status_of "$TMP/admin.key" GET /v1/whoami)" = 200 ]'
like "$(signed --proof "$TMP/admin.key" GET /v1/whoami | tr '\n' ' ')" '^proven 200 ' "an answer is proven to who signed the request"
like "$(signed --proof "$TMP/admin.key" DELETE /v1/leases/none | tr '\n' ' ')" '^proven 404 ' "a refusal too"

stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
cat >"$TMP/impostor.py" <<'PY'
import http.server, json, sys
lease = sys.argv[2]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        order = [{"lease": lease, "until": 3976214400}]
        body = json.dumps({"heartbeat": 1000, "epoch": 1, "run": "0" * 32, "event": 1, "leases": [],
                           "revoked": order, "revoke": order, "restored": []}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        # What the box itself has sent proves nothing.
        self.send_header("Authentication-Info", "Rgpu " + self.headers["Authorization"].split()[-1])
        self.end_headers()
        self.wfile.write(body)
        print("asked %s" % self.path, flush=True)
    do_PUT = do_GET = do_POST
    def log_message(self, *arguments):
        pass
address, port = sys.argv[1].rsplit(":", 1)
http.server.ThreadingHTTPServer.allow_reuse_address = True
server = http.server.ThreadingHTTPServer((address, int(port)), Handler)
print("listening", flush=True)
server.serve_forever()
PY
start impostor python3 "$TMP/impostor.py" "$BROKER" "$id"
impostor=$PID
await_line impostor listening
ok "the box asks whoever is at the broker's address" await_line impostor 'asked /v1/boxes/box1'
ok "again and again" await_line impostor 'asked /v1/boxes/box1'
ok "it says what it does not believe" await "the line" log_has 'without proof of being the broker'
ok "the session goes on" alive "$(hold_pid victim)"
like "$("$CLIENT" "$BOX" echo hi 2>&1 || true)" echoed "its ticket opens more"
unlike "$(cat "$BOX_LOG")" "lease=$id is to end" "no order was taken"
unlike "$(cat "$TMP/box-box1/revoked" 2>/dev/null)" "$id" "nor written down"
like "$(RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key "$BUILD/bin/rgpuctl" leases 2>&1 || true)" 'does not prove that it is the broker' "rgpuctl believes him nothing either"
stop "$impostor" KILL
start_broker
ok "the broker is back and so is the box" await "the box" box_is box1 up
ok "with its lease" lease_is "$id" granted

# ---- a box, by its name ----

body() { printf '{"instance": "x", "addresses": "%s", "gpus": []}' "$1"; }
api GET /v1/boxes/box2/key | at keys >"$TMP/box2.boxkey"
chmod 600 "$TMP/box2.boxkey"
is "$(status_of --box box2 "$TMP/box2.boxkey" PUT /v1/boxes/box2 "$(body 127.0.0.1:2)")" 200 "a box registers under its own name"
is "$(status_of --box box2 "$TMP/box2.boxkey" PUT /v1/boxes/box1 "$(body 127.0.0.1:2)")" 403 "not under another's"
is "$(status_of --box box1 "$TMP/box2.boxkey" PUT /v1/boxes/box1 "$(body 127.0.0.1:2)")" 401 "whatever it says that it is"
is "$(status_of --box box2 "$TMP/box2.boxkey" POST /v1/boxes/box1/sync '{"instance": "x"}')" 403 "nor does it report for it"
is "$(status_of "$TMP/admin.key" PUT /v1/boxes/box1 "$(body 127.0.0.1:2)")" 403 "an administrator elsewhere is no box"
is "$(status_of "$TMP/scheduler.key" PUT /v1/boxes/box1 "$(body 127.0.0.1:2)")" 403 "nor is a scheduler"

# ---- and by its address ----

addresses() { api GET /v1/boxes/box1 | at box.addresses; }
refusals() { api GET '/v1/events?after=0&limit=1000' | grep -o '"box.refused"' | wc -l; }
before=$(addresses)
for i in 1 2 3; do
    is "$(status_of --box box1 "$TMP/box1.boxkey" PUT /v1/boxes/box1 "$(body 127.0.0.1:2)")" 409 "while the box is connected it is not elsewhere ($i)"
done
is "$(addresses)" "$before" "new tickets name its own address"
is "$(refusals)" 1 "that somebody said so is one event"
ok "the session goes on" alive "$(hold_pid victim)"
stop "$BOX_PID" KILL
start_pool_box box1
ok "started anew elsewhere it is believed" test "$(addresses)" != "$before"
is "$(addresses)" "$BOX" "with its new address"
done_testing
