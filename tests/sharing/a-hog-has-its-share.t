#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# On a GPU whose processes take turns a lease is kept to its share of the time as long as others want it, and to nothing
# when they do not.
. "$(dirname "$0")/../broker/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker
start_cuda_box box1 --devices sim:1 --gpu-mode shared --memory-check 100ms --admin-socket "$TMP/admin" --metrics-listen 127.0.0.1:0
metrics=$(grep -o 'metrics_listen=.* port=[0-9]*' "$BOX_LOG" | grep -o '[0-9]*$')
export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key
busy() {
    start "$1" "$BUILD/bin/rgpuctl" run --mem 64M ${2:+--compute "$2"} -- "$BUILD/tests/programs/endure" --busy
    await_line "$1" 'round 0' || bail "$1 does not start"
}
# of NAME COMPUTE%: that member of the session with this share.
of() { "$BUILD/bin/rgpuctl" sessions --socket "$TMP/admin" --json | python3 -c '
import json, sys
for line in sys.stdin:
    session = json.loads(line)
    if session["compute"] == int(sys.argv[2]):
        print(session.get(sys.argv[1], ""))' "$@"; }
is_held() { [ "$(of held_back 10)" = True ]; }
goes_on() { ! is_held && [ "$(of calls 10)" -gt "$1" ]; }
has_called() { [ "$(of calls 100)" -gt "$1" ]; }
held_by_metrics() { web "http://127.0.0.1:$metrics/metrics" | grep -q '^rgpu_box_gpu_held_back_sessions.* 1$'; }

busy hog 10%
ok "a lease that is alone has the GPU" await "its calls" goes_on 20
unlike "$(of held_back 10)" True "for itself"
busy other
hog=$PID
ok "beside another it is held back" await "that" is_held
ok "which metrics say" await "them" held_by_metrics
before=$(of calls 10) mark=$(of calls 100)
await "what the other does meanwhile" has_called $((mark + 120))
is "$(of held_back 100)" "" "the other, which has no bound, is not"
ok "the hog has had less than half of what the other had" [ $(((($(of calls 10) - before)) * 2)) -lt 120 ]
before=$(of calls 10)
stop "$hog"
ok "when the other has gone it has the GPU again" await "its calls" goes_on $((before + 20))

start_cuda_box box2 --devices sim:1 --gpu-mode shared --memory-check 0
is "$(api POST /v1/leases '{"request": {"gpus": [{"mode": "shared", "memory": 1000000}], "box": "box2", "compute": 60}}' | at error.code)" impossible \
    "a box that takes no figures has no shares to give"
ok "the invariants hold" invariants
done_testing
