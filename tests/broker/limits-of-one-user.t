#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One user can neither fill the queue, nor keep the broker busy, nor push others' events out of the record.
. "$(dirname "$0")/broker.sh"
[ "$(id -u)" = 0 ] || skip_all "other users are only root's to be"
share "$TOP"/tests/broker/pool.py
PLAIN_PYTHON=/usr/bin/python3
[ -x "$PLAIN_PYTHON" ] || PLAIN_PYTHON=python3
# user UID ARGUMENTS... <PROGRAM: runs a Python program as that user.
user() { as_user "$1" env PYTHONPATH="$SHARED" "$PLAIN_PYTHON" - "$BROKER_SOCKET" "${@:2}"; }

start_broker --user-leases=yes --keep-events 100
start_pool_box box1
api POST /v1/boxes/box1/drain '{"reason": "fan 2"}' >/dev/null
api POST /v1/boxes/box1/undrain >/dev/null
api POST /v1/leases '{"request": {"gpus": [{}]}, "owner": 12346}' >/dev/null

result=$(user 12345 <<'PY'
import sys
from pool import Api, Refused
api = Api(sys.argv[1])
lease = api.call("POST", "/v1/leases", {"request": {"gpus": [{}]}, "ticket": True})["lease"]["id"]
for _ in range(150):
    api.call("POST", "/v1/tickets", {"lease": lease})
waiting = 0
try:
    while waiting < 600:
        api.call("POST", "/v1/leases", {"request": {"gpus": [{}]}, "queue": True})
        waiting += 1
except Refused as error:
    print("waiting %d then" % waiting, error)
PY
)
like "$result" '^waiting 500 then 429 ' "500 leases of a user may wait"
like "$result" 'queue-full.*at most 500 of one user and 50000 in all' "more are refused, and the limit is named"
is "$(api POST /v1/leases '{"request": {"gpus": [{}]}, "queue": true, "owner": 12345}' | at lease.state)" queued \
    "a scheduler's wait all the same"

result=$(user 12345 <<'PY'
import socket, sys
channel = socket.socket(socket.AF_UNIX)
channel.connect(sys.argv[1])
count, text = 6000, b""
one = b"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\n\r\n"
sent = 0
while b"HTTP/1.1 429 " not in text and sent < count:
    channel.sendall(one * 200)
    sent += 200
    while text.count(b"HTTP/1.1 ") < sent:
        text += channel.recv(65536)
print(text[text.find(b"HTTP/1.1 429"):].decode()[:600])
PY
)
like "$result" 'too-fast.*may send 2000 at once and 100 a second' "who asks too fast is refused, and the limit is named"
is "$(user 12346 <<<'import sys; from pool import Api; print(Api(sys.argv[1]).call("GET", "/v1/whoami")["uid"])')" 12346 \
    "another user is served"
is "$(api GET /v1/whoami | at admin)" True "and so is the administrator"

result=$(user 12347 <<'PY'
import sys
from pool import Api, Refused
api, count = Api(sys.argv[1]), 0
try:
    while count < 3000:
        lease = api.call("POST", "/v1/leases", {"request": {"gpus": [{}]}, "queue": True})["lease"]["id"]
        count += 1
        api.call("DELETE", "/v1/leases/" + lease)
except Refused as error:
    print("refused", count >= 1000, error)
PY
)
like "$result" '^refused True 429.*new leases come too fast: one user may take 1000 at once and 1 a second' \
    "who takes and ends leases without end is refused before they fill the database"
is "$(user 12346 <<<'import sys; from pool import Api; print(Api(sys.argv[1]).call("POST", "/v1/leases", {"request": {"gpus": [{}]}, "queue": True})["lease"]["state"])')" \
    queued "another user's lease is taken"

# Events are removed at the start, and every ten minutes.
stop "$BROKER_PID"
start_broker --user-leases=yes --keep-events 100
kinds() {
    PYTHONPATH=$TOP/tests/broker python3 - "$BROKER_SOCKET" <<'PY'
import collections, sys
from pool import Api
api, last, counts = Api(sys.argv[1]), 0, collections.Counter()
while True:
    events = api.call("GET", "/v1/events?after=%d&limit=200" % last)["events"]
    if not events:
        break
    last = events[-1]["sequence"]
    counts.update(event["kind"] for event in events)
print(*sorted(counts.items()))
PY
}
trimmed() { kinds >"$TMP/kinds"; grep -q "('ticket.issued', 100)" "$TMP/kinds"; }
ok "of tickets the newest are kept" await "the removal" trimmed
like "$(cat "$TMP/kinds")" 'box.drained' "what an administrator did is not pushed out by a user's tickets and leases"

# A list of many GPUs takes as long as hundreds of other requests.
PYTHONPATH=$TOP/tests/broker python3 - "$BROKER_SOCKET" <<'PY'
import sys
from pool import Api
api = Api(sys.argv[1])
for number in range(80):
    api.call("PUT", "/v1/boxes/large%d" % number, {"instance": "one", "addresses": "127.0.0.1:1", "gpus": [
        {"uuid": "GPU-%d-%d" % (number, index), "index": index, "model": "Fake", "memory": 1 << 34, "mode": "exclusive"}
        for index in range(64)]})
PY
result=$(user 12345 <<'PY'
import sys
from pool import Api, Refused
api, count = Api(sys.argv[1]), 0
try:
    while count < 600:
        api.call("GET", "/v1/gpus")
        count += 1
except Refused as error:
    print("refused", error)
PY
)
like "$result" '^refused 429.*busy for 1000 ms at once and 200 ms a second' \
    "who keeps the broker's processor busy is refused long before that, and the limit is named"
is "$(user 12346 <<<'import sys; from pool import Api; print(Api(sys.argv[1]).call("GET", "/v1/whoami")["uid"])')" 12346 \
    "another user is served meanwhile"
served_again() { [ "$(user 12345 <<<'import sys; from pool import Api; print(Api(sys.argv[1]).raw("GET", "/v1/whoami")[0])')" = 200 ]; }
ok "and he is served again later" await "his next request" served_again
done_testing
