#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A disk that takes its time delays those who change something, and nobody is told too early: all who
# wait are served by one sync, and who only looks does not wait.
. "$(dirname "$0")/broker.sh"

gate=$TMP/gate
syncs() { stat -c %s "$TMP/syncs" 2>/dev/null || echo 0; }
open_gate() { exec {gate_fd}<>"$gate"; rm "$gate"; }
close_gate() { [ -z "${gate_fd:-}" ] || exec {gate_fd}>&-; mkfifo "$gate"; }
preload=$(preload_for_sanitizers)
start_broker LD_PRELOAD="${preload:+$preload:}$BUILD/tests/sync-gate.so" SYNC_GATE="$gate" SYNC_COUNT="$TMP/syncs" --synchronous full
PYTHONPATH=$TOP/tests/broker start fake python3 -c '
import sys, pool
boxes = [pool.FakeBox(sys.argv[1], "fake%d" % i, gpus=8) for i in range(8)]
for box in boxes: box.start()
for box in boxes: box.ready.wait()
print("here", flush=True)
boxes[0].join()' "$BROKER_SOCKET"
await_line fake here

take='{"request": {"gpus": [{}]}, "ticket": true}'
lease=$(api POST /v1/leases "$take" | at lease.id)
like "$lease" '^L' "a lease is granted on a disk that answers"
close_gate
start askers python3 -c '
import json, sys, threading
sys.path.insert(0, sys.argv[1])
import pool
lock, done = threading.Lock(), [0]
def ask():
    answer = pool.Api(sys.argv[2], timeout=120).call("POST", "/v1/leases", json.loads(sys.argv[3]))
    with lock:
        done[0] += "ticket" in answer
        print("answered %d" % done[0], flush=True)
threads = [threading.Thread(target=ask) for _ in range(50)]
for thread in threads: thread.start()
for thread in threads: thread.join()' "$TOP/tests/broker" "$BROKER_SOCKET" "$take"
granted() { [ "$(api GET /metrics | sed -n 's/^rgpu_grants_total //p')" = "$1" ]; }
ok "fifty more are decided on while the disk does nothing" await "the grants" granted 51
ok "those who look are answered" lease_is "$lease" granted
is "$(api GET /healthz | at status)" ok "the broker is well"
none_answered() { ! IFS= read -r -t 0 -u "${line_pipe[askers]}"; }
ok "but nobody has been told" none_answered
start release "$BUILD/tests/broker-api" "$BROKER_SOCKET" DELETE "/v1/leases/$lease"
ok "a release is decided on as well" await "the end" lease_is "$lease" ending
no_release() { ! IFS= read -r -t 0 -u "${line_pipe[release]}"; }
ok "and told to nobody" no_release
before=$(syncs)
open_gate
ok "when the disk goes on, all fifty hear of their leases" await_line askers 'answered 50'
ok "so does who released one" await_line release ending
after=$(syncs)
diag "syncs=$((after - before))"
ok "for a few syncs" test $((after - before)) -le 12
ok "the box is told, and the lease ends" await "the end" lease_is "$lease" ended
ok "the invariants hold" invariants

all='{"request": {"gpus": [{"count": 13}]}, "queue": true}'
holder=$(api POST /v1/leases "$all" | at lease.id)
waiting=$(api POST /v1/leases "$all" | at lease.id)
ok "a request waits for the GPUs of another lease" lease_is "$waiting" queued
close_gate
start poll "$BUILD/tests/broker-api" "$BROKER_SOCKET" GET "/v1/leases/$waiting?wait=60"
start giver "$BUILD/tests/broker-api" "$BROKER_SOCKET" DELETE "/v1/leases/$holder"
ok "gets them while the disk does nothing" await "the grant" lease_is "$waiting" granted
start late "$BUILD/tests/broker-api" "$BROKER_SOCKET" GET "/v1/leases/$waiting?wait=60"
no_poll() { ! IFS= read -r -t 0 -u "${line_pipe[$1]}"; }
ok "and who waits for it" no_poll poll
ok "or comes to wait for it" no_poll late
open_gate
ok "is told when it is on disk" await_line poll granted
ok "both times" await_line late granted

close_gate
start last "$BUILD/tests/broker-api" "$BROKER_SOCKET" POST /v1/leases "$take"
await "the grant" granted 54
stopping() { grep -q 'stopping: signal' "$BROKER_LOG"; }
kill -TERM "$BROKER_PID"
ok "a broker that is told to stop" await "the signal" stopping
open_gate
ok "gives the last answers first" await_line last '"ticket"'
done_testing
