#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Over TCP munge tells the broker who asks: the user, not what he says; each credential once.
. "$(dirname "$0")/broker.sh"
requires munged munge
[ "$(id -u)" = 0 ] || skip_all "several users need root"

mkdir -m 711 "$TMP/munge"
chmod 711 "$TMP"
dd if=/dev/urandom of="$TMP/munge/key" bs=128 count=1 status=none
chmod 600 "$TMP/munge/key"
start munged /usr/sbin/munged --foreground --force --key-file="$TMP/munge/key" \
    --socket="$TMP/munge/s" --pid-file="$TMP/munge/pid" --log-file="$TMP/munge/log" \
    --seed-file="$TMP/munge/seed"
await "munged" munge -n -S "$TMP/munge/s"
start_broker --munge yes --munge-socket "$TMP/munge/s" --schedulers 12346
start_pool_box box1
RGPU_BROKER_USER=$(id -u)
export RGPU_BROKER_USER

# ask UID METHOD PATH [BODY] [BODY SENT INSTEAD]: prints the answer.
credential_for() {
    local digest
    digest=$(printf '%s %s\n%s\n' "$2" "$3" "$(printf %s "${4:-}" | sha256sum | cut -d' ' -f1)" | sha256sum | cut -d' ' -f1)
    as_user "$1" munge -S "$TMP/munge/s" --restrict-uid "$RGPU_BROKER_USER" -s "$digest $(printf %064d 5)"
}
send() { python3 "$TOP/tests/broker/signed.py" "$BROKER" none --header "Munge $1" "$2" "$3" "${4:-}"; }
ask() { send "$(credential_for "$1" "$2" "$3" "${4:-}")" "$2" "$3" "${4:-}"; }
status_of() { ask "$@" | sed -n 1p; }

like "$(ask 0 GET /v1/whoami)" '"name":"admin uid=0"' "root is the administrator"
like "$(ask 12345 GET /v1/whoami)" '"name":"user uid=12345"' "a user is himself"
is "$(status_of 0 POST /v1/boxes/box1/undrain '{}')" 200 "the administrator steers"
is "$(status_of 12345 POST /v1/boxes/box1/drain '{}')" 403 "a user does not"
is "$(status_of 12346 POST /v1/leases '{"owner": 12345, "key": "k", "request": {"gpus": [{}]}, "ticket": true}')" 200 "the scheduler takes a lease for him"
is "$(status_of 12345 POST /v1/tickets '{"key": "k"}')" 200 "he gets its ticket"
is "$(status_of 12347 POST /v1/tickets '{"key": "k"}')" 403 "another user does not"
unlike "$(ask 12345 POST /v1/tickets '{"key": "k"}')" '"ticket"|eyJ' "which nobody else on the line can read"
export RGPU_BROKER=$BROKER RGPU_MUNGE_SOCKET=$TMP/munge/s
is "$(status_of 12346 POST /v1/leases/release '{"key": "k"}')" 200 "the scheduler releases it"
ok "a program runs under a lease over TCP" "$BUILD/bin/rgpuctl" run -- "$CLIENT" "$BOX" echo hi
like "$(RGPU_BROKER_USER=12399 "$BUILD/bin/rgpuctl" undrain box1 2>&1 || true)" 'nauthorized' "a broker that is another user than expected cannot read what is said to it"
like "$(RGPU_BROKER_USER=nobody-of-this-name "$BUILD/bin/rgpuctl" undrain box1 2>&1 || true)" 'is not known here: set broker_user' "one whose number is not known is not asked"
like "$(RGPU_BROKER_USER=nobody-of-this-name "$BUILD/bin/rgpuctl" boxes 2>&1 || true)" 'is not known here: set broker_user' "and who only looks is told so, too"
said=$(RGPU_MUNGE_SOCKET=$TMP/munge/none "$BUILD/bin/rgpuctl" boxes 2>&1 || true)
like "$said" '^rgpuctl boxes: munge: .*run munged on this host' "without munged the reason is named"
said=$(RGPU_BROKER_USER=12399 "$BUILD/bin/rgpuctl" boxes 2>&1 || true)
like "$said" '^rgpuctl boxes: .*nauthorized' "a wrong number of the broker's user is the broker's word"
unlike "$said" 'run munged' "and munged is not blamed, which runs"
digest=$(printf '%s %s\n%s\n' GET /v1/whoami "$(printf '' | sha256sum | cut -d' ' -f1)" | sha256sum | cut -d' ' -f1)
dd if=/dev/urandom of="$TMP/munge/other" bs=128 count=1 status=none
chmod 600 "$TMP/munge/other"
start other-munged /usr/sbin/munged --foreground --force --key-file="$TMP/munge/other" --socket="$TMP/munge/o" \
    --pid-file="$TMP/munge/other-pid" --log-file="$TMP/munge/other-log" --seed-file="$TMP/munge/other-seed"
await "the other munged" munge -n -S "$TMP/munge/o"
like "$(RGPU_MUNGE_SOCKET=$TMP/munge/o "$BUILD/bin/rgpuctl" boxes 2>&1 || true)" '^rgpuctl boxes: Invalid credential: the key of munge differs' \
    "another key of munge is named as the reason"
is "$(send "$(munge -S "$TMP/munge/s" -s "$digest")" GET /v1/whoami | sed -n 1p)" 401 "a credential without a secret for the answer is refused"
# Somebody else where the broker was: he can read no request, so he proves nothing.
cat >"$TMP/other.py" <<'PY'
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = b'{"lease": {"id": "Lfalse", "state": "granted"}, "ticket": "box1 6.6.6.6:1 a.b.c"}'
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Authentication-Info", "Rgpu " + "0" * 64)
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_PUT = do_DELETE = do_POST
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print("listening on 127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
PY
start other python3 "$TMP/other.py"
await_line other 'listening on'
like "$(RGPU_BROKER=${LINE##* } "$BUILD/bin/rgpuctl" run -- /bin/true 2>&1 || true)" 'does not prove that it is the broker' "rgpuctl believes no other"
once=$(credential_for 0 POST /v1/boxes/box1/undrain '{}')
is "$(send "$once" POST /v1/boxes/box1/undrain '{}' | sed -n 1p)" 200 "a credential serves"
like "$(send "$once" POST /v1/boxes/box1/undrain '{}')" '^401|[Rr]eplay' "once"
is "$(send "$(credential_for 0 POST /v1/boxes/box1/drain '{}')" POST /v1/boxes/box1/drain '{"force": true}' | sed -n 1p)" 401 "for the body it was made for"
is "$(send "$(credential_for 0 GET /v1/whoami)" POST /v1/boxes/box1/drain '{}' | sed -n 1p)" 401 "and the request"
is "$(send "MUNGE:forged:" GET /v1/whoami | sed -n 1p)" 401 "a forged one never"

"$BUILD/bin/rgpu-brokerd" --state-dir "$TMP" --socket "" --listen 127.0.0.1:0 --munge yes \
    --munge-socket "$TMP/nothing" >"$TMP/out" 2>&1 && fail "started without munge" || pass "munge = yes needs munged"
like "$(cat "$TMP/out")" 'start munged, or set munge = no' "and says what to do"
done_testing
