#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A munged that hangs delays those who need it, and nobody else.
. "$(dirname "$0")/broker.sh"
requires munged munge
[ "$(id -u)" = 0 ] || skip_all "munged needs root here"

mkdir -m 711 "$TMP/munge"
chmod 711 "$TMP"
dd if=/dev/urandom of="$TMP/munge/key" bs=128 count=1 status=none
chmod 600 "$TMP/munge/key"
start munged /usr/sbin/munged --foreground --force --key-file="$TMP/munge/key" \
    --socket="$TMP/munge/s" --pid-file="$TMP/munge/pid" --log-file="$TMP/munge/log" \
    --seed-file="$TMP/munge/seed"
munged=$PID
await "munged" munge -n -S "$TMP/munge/s"
start_broker --munge yes --munge-socket "$TMP/munge/s"
start_pool_box box1

digest=$(printf '%s %s\n%s\n' GET /v1/whoami "$(printf '' | sha256sum | cut -d' ' -f1)" | sha256sum | cut -d' ' -f1)
credential() { munge -S "$TMP/munge/s" -s "$digest $(printf %064d 5)"; }
first=$(credential) second=$(credential) third=$(credential)
send() { python3 "$TOP/tests/broker/signed.py" "$BROKER" none --header "Munge $1" GET /v1/whoami; }
is "$(send "$first" | sed -n 1p)" 200 "a credential serves"

kill -STOP "$munged"
# Whoever waits for munge still waits when the others have been answered.
ask_beside() {
    start pending python3 "$TOP/tests/broker/signed.py" "$BROKER" none --header "Munge $second" GET /v1/whoami
    box_is box1 up && kill -0 "$PID"
}
ok "while a credential waits, the unix socket is served" await "the order" ask_beside
is "$(python3 "$TOP/tests/broker/signed.py" "$BROKER" "$TMP/admin.key" GET /v1/whoami | sed -n 1p)" 200 "a shared key serves"
ok "leases come and go" sh -c 'id=$("$1" "$2" POST /v1/leases "{\"request\": {\"gpus\": [{}]}}" | grep -o "L[0-9a-z]*" | head -1); "$1" "$2" DELETE "/v1/leases/$id"' sh "$BUILD/tests/broker-api" "$BROKER_SOCKET"
await_line pending '^[0-9]'
is "$LINE" 503 "which is answered in the end"
await_line pending .
like "$LINE" '"munge-silent"' "with the reason"

# More questions than may wait.
flood=$TMP/flood.py
cat >"$flood" <<'PY'
import selectors, socket, sys
host, port = sys.argv[1].rsplit(":", 1)
head = "GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Munge %s\r\n\r\n" % sys.argv[2]
held, answers = selectors.DefaultSelector(), []
for number in range(700):
    connection = socket.create_connection((host, int(port)), source_address=("127.0.2.%d" % (number % 250 + 1), 0))
    connection.sendall(head.encode())
    held.register(connection, selectors.EVENT_READ)
while len(answers) < 100:
    for key, _ in held.select():
        answers.append(key.fileobj.recv(4096).decode())
        held.unregister(key.fileobj)
print(all(" 503 " in answer and "munge-silent" in answer for answer in answers), flush=True)
PY
start flood python3 "$flood" "$BROKER" "$third"
await_line flood .
is "$LINE" True "seven hundred questions do not all wait: the last are told at once"
ok "and the box is there" box_is box1 up

kill -CONT "$munged"
ok "when munged goes on" await "munged" munge -n -S "$TMP/munge/s"
served() { [ "$(send "$(credential)" | sed -n 1p)" = 200 ]; }
ok "credentials serve again" await "the broker" served
done_testing
