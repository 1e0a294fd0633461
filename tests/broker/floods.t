#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Strangers in any number keep nobody out: connections, bodies, half heads, lack of descriptors.
. "$(dirname "$0")/broker.sh"
requires prlimit
floods() { python3 "$TOP/tests/broker/floods.py" "$@"; }
# flood NAME ARGUMENTS...: strangers that stay; `leave NAME` makes them go.
flood() {
    local name=$1
    shift
    mkfifo "$TMP/$name.in"
    start "$name" sh -c 'exec python3 "$@" <"$0"' "$TMP/$name.in" "$TOP/tests/broker/floods.py" "$@"
    exec {hold_fd}<>"$TMP/$name.in"
    await_line "$name" "${AWAIT:-ready}"
}
signed() { python3 "$TOP/tests/broker/signed.py" "$BROKER" "$@" | sed -n 1p; }
memory() { awk "/$1/ {print \$2}" "/proc/$BROKER_PID/status"; }

start_broker --max-connections 100 --max-connections-per-address 40
flood slow hold "$BROKER" 1 --from 127.9.9.9 --send 'GET /healthz HTTP/1.1\r\nHost: '
flood one hold "$BROKER" 40 --from 127.0.0.1
ok "forty idle connections of one address are held" test "$LINE" = ready
is "$(floods ask "$BROKER" --from 127.0.0.1 /healthz)" 200 "one more from there takes the place of the oldest"
await_line one 'closed 1'
is "$(floods ask "$BROKER" --from 127.0.0.2 /healthz)" 200 "another address is served"
is "$(api GET /v1/whoami | at admin)" "$([ "$(id -u)" = 0 ] && echo True || echo False)" "so is the unix socket"
flood many hold "$BROKER" 200
ok "two hundred strangers of as many addresses take each other's places" await_line many 'closed'
is "$(floods ask "$BROKER" --from 127.0.0.3 /healthz)" 200 "who comes then is served"
is "$(signed "$TMP/admin.key" GET /v1/boxes)" 200 "and so is who can say who he is"
connections() { api GET /metrics | sed -n 's/^rgpu_connections //p'; }
ok "there are never more than the limit" test "$(connections)" -le 100
lines=$(grep -Ec 'connection (dropped|refused)' "$BROKER_LOG")
ok "the log has some lines about it, five in a minute, and not all" test "$lines" -ge 5 -a "$lines" -le 25
ok "who sends half a head is hung up on" await_line slow 'all closed'
ok "and who sends none" await_line one 'all closed'
await_line many 'all closed'
api GET /v1/boxes/box9/key | at keys >"$TMP/box9.key"
box9() { python3 "$TOP/tests/broker/signed.py" "$BROKER" "$TMP/box9.key" --box box9 --keep --times "$1" GET /v1/boxes; }
is "$(box9 25 | sed -n 1p)" 200 "a box has a quarter of the connections at most"
like "$(box9 26)" too-many-connections "one more is refused"
is "$(signed "$TMP/scheduler.key" --keep --times 30 GET /v1/boxes)" 200 "a scheduler has no such limit"
stop "$BROKER_PID"

start_broker
like "$(floods early "$BROKER")" ' 401 ' "a stranger's body is not waited for"
before=$(memory VmHWM)
AWAIT=. flood bodies bodies "$BROKER" 400 1000000
is "$LINE" 401 "four hundred strangers send a megabyte each, and are refused"
after=$(memory VmHWM)
diag "memory before=$before KiB after=$after KiB"
ok "which takes no memory worth speaking of" test $((after - before)) -lt 40000
stop "${line_pid[bodies]}"
for path in /healthz / /v1/whoami; do
    AWAIT=. flood "get${path//\//-}" bodies "$BROKER" 100 1000000 --request "GET $path"
    is "$LINE" 400 "a body that comes with GET $path is refused"
    stop "${line_pid[get${path//\//-}]}"
done
after=$(memory VmHWM)
diag "memory before=$before KiB after=$after KiB"
ok "and takes no memory either" test $((after - before)) -lt 40000
start_pool_box box1
PYTHONPATH=$TOP/tests/broker python3 - "$BROKER_SOCKET" <<'PY'
import sys
from pool import Api
api = Api(sys.argv[1])
for number in range(105):
    api.call("POST", "/v1/boxes/box1/drain", {})
    api.call("POST", "/v1/boxes/box1/undrain", {})
PY
is "$(api GET '/v1/events?after=0&limit=100000' | at events.#)" 200 "events come in small pages"

# Without descriptors the broker rests, and goes on when there are some again.
ticks() { awk '{print $14 + $15}' "/proc/$BROKER_PID/stat"; }
few_connections() { [ "$(connections)" -le 5 ]; }
await "the end of the connections so far" few_connections
open_now=$(ls "/proc/$BROKER_PID/fd" | wc -l)
prlimit --pid "$BROKER_PID" --nofile=$((open_now + 5)):
used=$(ticks)
flood crowd hold "$BROKER" 60
ok "more connections than descriptors wait" await_line crowd 'closed 5'
ok "until those before them have been hung up on" await_line crowd 'closed 10'
used=$(($(ticks) - used))
diag "ticks=$used"
ok "and the broker does not spin meanwhile" test "$used" -lt 300
is "$(grep -c 'new connections wait' "$BROKER_LOG")" 1 "it says so once"
prlimit --pid "$BROKER_PID" --nofile=1024:
stop "${line_pid[crowd]}"
ok "then everybody is served" box_is box1 up
stop "$BROKER_PID"
start_broker_under() { BROKER_PREFIX="prlimit --nofile=$1:$1" start_broker; }
start_broker_under 160
logs "$BROKER_LOG" 'max_connections=96 is all that the limit of open files=160 allows' "it counts its descriptors beforehand"
flood all hold "$BROKER" 180
is "$(floods ask "$BROKER" --from 127.0.0.3 /healthz)" 200 "so that it never lacks one"
unlike "$(cat "$BROKER_LOG")" 'new connections wait' "and need not rest"
done_testing
