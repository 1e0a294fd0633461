#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# On a full disk leases end and their GPUs come free; nothing else is changed, and the broker says so.
[ -n "${PRIVATE_MOUNTS:-}" ] || [ "$(id -u)" != 0 ] || exec env PRIVATE_MOUNTS=1 unshare -m "$0" "$@"
. "$(dirname "$0")/broker.sh"
[ "$(id -u)" = 0 ] || skip_all "a small file system needs root"
mkdir "$TMP/state"
mount -t tmpfs -o size=48m tmpfs "$TMP/state" 2>/dev/null || skip_all "no mounts for us here"

health() { (api GET /healthz || true) | at status; }
health_is() { [ "$(health)" = "$1" ]; }
fill() { dd if=/dev/zero of="$TMP/state/filler" bs=64k conv=notrunc oflag=append status=none 2>/dev/null || true; }
leases() { # leases N WORD: that many, one after the other; prints their ids
    PYTHONPATH=$TOP/tests/broker python3 - "$BROKER_SOCKET" "$@" <<'PY'
import sys
from pool import Api
api = Api(sys.argv[1])
for number in range(int(sys.argv[2])):
    print(api.call("POST", "/v1/leases", {"request": {"gpus": [{"mode": "shared", "memory": 1 << 20}]},
                                          "key": sys.argv[3] + str(number)})["lease"]["id"])
PY
}

start_broker
PYTHONPATH=$TOP/tests/broker start fake python3 -c '
import sys, pool
box = pool.FakeBox(sys.argv[1], "fake", gpus=8, shared=8, memory=200 << 30)
box.start()
box.ready.wait()
print("here", flush=True)
box.join()' "$BROKER_SOCKET"
await_line fake here
leases 200 first >"$TMP/ids"
is "$(wc -l <"$TMP/ids")" 200 "two hundred leases"
is "$(health)" ok "the broker is well"
fill
refused() { fill; [ "$(error_code POST /v1/leases '{"request": {"gpus": [{"mode": "shared", "memory": 1048576}]}}')" = disk-full ]; }
ok "a full disk refuses a grant" await "the refusal" refused
is "$(health)" disk-full "the broker's health tells the truth"
like "$(RGPU_BROKER=unix:$BROKER_SOCKET "$BUILD/bin/rgpuctl" health 2>&1 || true)" 'disk is full; leases end' "rgpuctl health says it in words"
ok "and so does its status" sh -c '! "$1" "$2" GET /healthz' sh "$BUILD/tests/broker-api" "$BROKER_SOCKET"
ok "a scheduler has its prefix, without which it releases nothing" api POST /v1/schedulers '{"key_prefix": "slurm/full/", "scheduler": "a:1"}'
released=$(PYTHONPATH=$TOP/tests/broker python3 - "$BROKER_SOCKET" <<'PY'
import sys
from pool import Api, Refused
api = Api(sys.argv[1])
done = 0
for lease in api.call("GET", "/v1/leases")["leases"]:
    try:
        api.call("DELETE", "/v1/leases/" + lease["id"])
        done += 1
    except Refused as error:
        print(error, file=sys.stderr)
print(done)
PY
)
ok "all $released leases are released all the same" test "$released" -ge 200 -a "$(api GET /v1/leases)" = '{"leases":[]}' 
is "$(error_code POST /v1/boxes/fake/drain '{}')" disk-full "nothing else is changed with that room"
is "$(health)" disk-full "and the broker still says so"
ok "the invariants hold" invariants --idle
rm "$TMP/state/filler"
ok "with room again it is well by itself" await "its health" health_is ok
ok "and grants" leases 3 second
logs "$BROKER_LOG" 'the disk is full: leases end' "the log says what happens"
logs "$BROKER_LOG" 'the disk has room again' "and when it is over"
ok "the reserve is there again" test "$(stat -c %b "$TMP/state/reserve")" -gt 60000

# A disk that fills up while nothing happens is known before somebody needs it.
fill
ok "a disk that fills up meanwhile is told of" await "the health" health_is disk-full
stop "$BROKER_PID"
fill
start_broker
ok "it starts on a full disk all the same, and says that it is one" await "its health" health_is disk-full
stop "$BROKER_PID"
umount "$TMP/state"
done_testing
