#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How busy GPUs and sessions are, what memory they really have, and by how many processes, is shown on the box, in
# the pool and in both sets of metrics; what the management library does not tell is a dash, and what a box says that
# cannot be is left out.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker --anonymous-read=yes
start_cuda_box box1 --memory-check 100ms --metrics-listen 127.0.0.1:0 --admin-socket "$TMP/admin.sock"
box_pid=$PID
port=$(grep -o 'metrics_listen=.* port=[0-9]*' "$BOX_LOG" | grep -o '[0-9]*$')
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET

# gpu COMMAND... MEMBER: of the first GPU that a command lists; "none" where it is not told.
gpu() { "$ctl" "${@:1:$#-1}" --json | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(rows[0].get(sys.argv[1], "none") if rows else "none")' "${!#}"; }
pool() { gpu gpus "$1"; }
above() { local value; value=$("${@:2}"); [[ $value =~ ^[0-9.]+$ ]] && python3 -c "exit(not $value > $1)"; }
says() { web "$1" | grep -E "$2" >"$TMP/found"; }
is_not_told() { [ "$("$@")" = none ]; }

figure_is() { [ "$(pool "$1")" = "$2" ]; }
ok "an idle GPU is not busy" await "figures of the box" figure_is utilization 0
ok "the worker that waits has memory of it" await "its figures" figure_is processes 1
idle=$(pool driver_bytes)
like "$("$ctl" gpus | head -n 1)" 'UTIL% +DRIVER +PROCS +TEMP +WATTS' "the list has columns for it"
like "$("$ctl" gpus | sed -n 2p)" ' 0 +[0-9.]+M +1 +- +- ' "with dashes for what software GPUs have not got"
like "$("$ctl" devices --socket "$TMP/admin.sock" | sed -n 2p)" ' 0 +1 +- +- ' "so has the box's own"

lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
start busy env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$(at ticket <<<"$lease")" "$BUILD/tests/programs/endure" --busy
await_line busy 'round 0' || bail "no session"
ok "the GPU is busy while kernels run" await "its utilization" above 0 pool utilization
ok "more memory of it is taken" await "more" above "$idle" pool driver_bytes
ok "the session is busy" await "its utilization" above 0 gpu sessions utilization
ok "and the driver says what memory it has" await "its memory" above 16777216 gpu sessions driver_bytes
ok "the box says so, too" await "its utilization" above 0 gpu sessions --socket "$TMP/admin.sock" utilization
ok "top has it" grep -q 'UTIL%' <("$ctl" top --once)
is "$("$ctl" gpus --json | sed -n 2p | python3 -c 'import json, sys; print(json.load(sys.stdin)["utilization"])')" 0 \
    "the other GPU is idle"
ok "metrics of the box: GPUs" await "a sample" says "http://127.0.0.1:$port/metrics" \
    '^rgpu_box_gpu_utilization_percent\{gpu="0".*\} [1-9]'
ok "and sessions" await "a sample" says "http://127.0.0.1:$port/metrics" \
    "^rgpu_box_session_utilization_percent\{session=\"1\",lease=\"$(at lease.id <<<"$lease")\"\} [1-9]"
fails "but none of what is not told" says "http://127.0.0.1:$port/metrics" '^rgpu_box_gpu_(power|temperature)'
ok "metrics of the broker" await "a sample" says "http://$BROKER/metrics" \
    '^rgpu_pool_box_utilization_percent\{box="box1",model="[^"]*"\} [1-9]'
ok "of both GPUs of the model together" says "http://$BROKER/metrics" '^rgpu_pool_box_gpus\{box="box1",model="[^"]*"\} 2$'
ok "and those that are held" says "http://$BROKER/metrics" '^rgpu_pool_box_gpus_held\{box="box1",model="[^"]*"\} 1$'
fails "also without what is not told" says "http://$BROKER/metrics" '^rgpu_pool_box_(power|temperature)'

kill -STOP "$(pgrep -P "$box_pid" rgpu-monitor)"
kill -KILL "$(pgrep -P "$box_pid" rgpu-monitor)"
ok "without the management library nothing is claimed" await "the loss" is_not_told pool utilization
kill -KILL "$box_pid"

# What any program with the box's key could say. The hostile one registers a GPU of its own.
say() { api POST /v1/boxes/evil/sync "{\"instance\": \"i\", \"sessions\": [$2], \"figures\": [$1]}" >/dev/null; }
first() { api GET /v1/gpus/GPU-evil | at "gpu.$1"; }
api PUT /v1/boxes/evil '{"instance": "i", "addresses": "127.0.0.1:1", "gpus": [{"uuid": "GPU-evil", "index": 0, "model": "m", "memory": 1000}]}' >/dev/null
say '{"uuid": "GPU-evil", "utilization": 7, "temperature": -3, "power": 71.5, "processes": 2, "driver_bytes": 99}' ''
is "$(first utilization) $(first temperature) $(first power) $(first processes) $(first driver_bytes)" "7 -3 71.5 2 99" \
    "figures are taken as they are said"
say '{"uuid": "GPU-evil", "utilization": 101, "temperature": 1e9, "power": -1, "processes": "x", "driver_bytes": 1e99}' \
    '{"session": 1, "lease": "", "utilization": 4000, "driver_bytes": -5}'
is "$(first utilization)$(first temperature)$(first power)$(first processes)$(first driver_bytes)" "" \
    "what is outside of their bounds is left out"
unlike "$(api GET /v1/sessions)" '"utilization":4000|"driver_bytes":-5' "also of a session"
say '7, null, {"uuid": 4}, {}, {"uuid": "GPU-evil", "utilization": {}}' ''
is "$(first utilization)" "" "and what is no figure at all"
done_testing
