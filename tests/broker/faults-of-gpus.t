#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An Xid error or a counter of a GPU is judged by its class: what only concerns a program is counted, what is unknown is logged,
# what needs a reset ends the sessions on the GPU, with the cause in the program's error, and drains it; others of the box go on.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"
ctl=$BUILD/bin/rgpuctl
export RGPU_SIM_FAULTS=$TMP/faults
: >"$RGPU_SIM_FAULTS"
chmod 755 "$TMP"
chmod 644 "$RGPU_SIM_FAULTS"
start_broker
start_cuda_box box1 --memory-check 100ms --metrics-listen 127.0.0.1:0 --admin-socket "$TMP/admin.sock"
export RGPU_BROKER=unix:$BROKER_SOCKET
unset RGPU_BOXES RGPU_TICKET RGPU_TICKET_FILE
inject() { echo "$*" >>"$RGPU_SIM_FAULTS"; }
log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
gpu_has() { [ "$(api GET "/v1/gpus/box1:$1" | at "gpu.$2")" = "$3" ]; }
hold() { # hold NAME: a program that holds data on one GPU
    mkfifo "$TMP/$1.orders"
    exec {orders}<>"$TMP/$1.orders"
    start "$1" bash -c 'exec "$@" <"$0"' "$TMP/$1.orders" "$ctl" run --no-wait -- "$BUILD/tests/held-data" 8
    await_line "$1" ready || bail "the program did not start"
}
gpu_of() { api GET '/v1/leases?state=granted' | at "leases.$1.gpus.0.index"; }

port=$(grep -o 'metrics_listen=.* port=[0-9]*' "$BOX_LOG" | grep -o '[0-9]*$')
metrics() { web "http://127.0.0.1:$port/metrics"; }
warm() { "$ctl" devices --socket "$TMP/admin.sock" --json | sed -n $(($1 + 1))p | python3 -c 'import json, sys; print(json.load(sys.stdin)["warm"])'; }
warm_is() { [ "$(warm "$1")" = "$2" ]; }
ok "a GPU without faults is well" await "its health" gpu_has 0 health ok
hold first
first=$PID first_orders=$orders bad=$(gpu_of 0)
hold second
second=$PID second_orders=$orders other=$((1 - bad))

inject "$bad" xid 31
ok "an Xid of a program is counted" await "the Xid" log_has " gpu=$bad .*fault=\"Xid 31, page fault of GPU memory \(RESTART_APP\)\" class=application action=count"
inject "$bad" xid 999
ok "one that is in no catalogue is logged" await "the Xid" log_has " gpu=$bad .*fault=\"Xid 999, is in no catalogue \(none\)\" class=unknown action=warn"
ok "and stands in the list" await "its health" gpu_has "$bad" health "Xid 999"
is "$(api GET "/v1/gpus/box1:$bad" | at gpu.state)" used "but the GPU stays in service"
inject "$other" counter 3 7
inject "$other" counter 1001 1
inject "$other" counter 1002 8
ok "so is a link that lost lanes" await "the link" log_has " gpu=$other .*fault=\"PCIE_LINK_WIDTH=8: Lanes of PCIe in use\" class=unknown action=warn"
inject "$other" counter 1001 65
ok "and clocks that heat slows" await "the clocks" log_has " gpu=$other .*fault=\"CLOCKS_EVENT_REASONS=65: .*class=unknown action=warn"
is "$(grep -c CLOCKS_EVENT "$BOX_LOG")" 1 "but not those of an idle GPU"
inject "$bad" xid 79
gone() { ! kill -0 "$1" 2>/dev/null; }
ok "an Xid that needs a reset drains the GPU" await "the drain" gpu_has "$bad" drain.reason "Xid 79, the GPU has fallen off the bus (RESTART_BM)"
is "$(api GET "/v1/gpus/box1:$bad" | at gpu.drain.by)" "box box1" "on the word of its box"
echo >&"$first_orders"
ok "the program ends" await "its end" gone "$first"
logs "$TMP/first.log" "GPU $bad of box box1 failed: Xid 79, the GPU has fallen off the bus" "with the cause in its error"
logs "$TMP/first.log" "^rgpuctl run: lease L[0-9a-z]+ has ended: drained by force: Xid 79, the GPU has fallen" "and in the line of rgpuctl run"
like "$("$ctl" gpus)" "^box1 +$bad .* Xid 79 .*the GPU has fallen off the bus \(RESTART_BM\) \(box box1" "rgpuctl gpus names it"
like "$("$ctl" devices --socket "$TMP/admin.sock")" "Xid 79" "so does the box"
like "$(api GET /v1/overview | at problems.rows.0.why)" "GPU $bad is drained: Xid 79" "and the status page"
is "$(api GET /v1/overview | at "boxes.rows.0.gpu_list.$bad.health")" "Xid 79" "in its list of boxes as well"
ok "the other program goes on" kill -0 "$second"
echo >&"$second_orders"
ok "with its data" await_line second 'right 1'
stop "$second"
unheld() { [ "$(api GET /v1/leases | at leases)" = '[]' ]; }
ok "to its end" await "the end of its lease" unheld
is "$(api GET "/v1/gpus/box1:$other" | at gpu.drain)" "" "and its GPU stays in service"
like "$(api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}}' || true)" 'drained' "nobody gets the drained one"

like "$(metrics)" "^DCGM_FI_DEV_XID_ERRORS\{gpu=\"$bad\",uuid=\"GPU-[^\"]*\",model=\"[^\"]*\"\} 79$" "metrics have the last Xid, by DCGM's name"
like "$(metrics)" "^DCGM_FI_DEV_ECC_SBE_VOL_TOTAL\{gpu=\"$other\",.*\} 7$" "and counters"
for fault in application:1 unknown:1 reset:1 replace:0; do
    like "$(metrics)" "^rgpu_box_gpu_faults_total\{gpu=\"$bad\",.*,class=\"${fault%:*}\"\} ${fault#*:}$" "faults of class ${fault%:*} are ${fault#*:}"
done
ok "the box keeps no worker on it, so that it can be reset" await "the end of its warm worker" warm_is "$bad" 0
fails "nobody else tests a GPU that is drained" env RGPU_BROKER_KEY="$TMP/scheduler.key" "$ctl" test --broker "$BROKER" "box1:$bad" --mem 1M
like "$(cat "$TMP/ok.out")" 'for administrators' "which is for administrators"
ok "rgpuctl test tests it" "$ctl" test "box1:$bad" --mem 1M
like "$(cat "$TMP/ok.out")" "^gpu 0 .*: memory \(1 MiB\): passed" "its memory"
like "$(cat "$TMP/ok.out")" "^gpu 0 .*: arithmetic: passed" "arithmetic"
like "$(cat "$TMP/ok.out")" "^gpu 0 .*: copies: passed" "and copies"
like "$(cat "$TMP/ok.out")" "^box1:$bad passed and is back in service" "and puts it back into service"
ok "for leases to come" await "a free GPU" gpu_has "$bad" state free
ok "its fault is history then" await "its health" gpu_has "$bad" health ok
ok "and a worker waits there for programs" await "its warm worker" warm_is "$bad" 1
inject "$bad" counter 4 1
ok "a counter that rises drains it as well" await "the drain" gpu_has "$bad" drain.reason \
    "ECC_DBE_VOL_TOTAL=1: Double-bit ECC errors since the driver was loaded"
"$ctl" undrain "box1:$bad"
inject "$other" xid 54
ok "what needs a part replaced drains the GPU" await "the drain" gpu_has "$other" drain.reason "Xid 54, auxiliary power is not connected (CHECK_MECHANICALS)"
api PUT /v1/boxes/evil '{"instance": "i", "addresses": "127.0.0.1:1", "gpus": [{"uuid": "GPU-evil", "index": 0, "model": "m", "memory": 1000}]}' >/dev/null
say() { api POST /v1/boxes/evil/sync "{\"instance\": \"i\", \"sessions\": [], \"faults\": [$1]}" >/dev/null; }
uuid=$(api GET "/v1/gpus/box1:$bad" | at gpu.uuid)
say "{\"uuid\": \"$uuid\", \"reason\": \"Xid 79\", \"force\": true}, 7, null, {}, {\"uuid\": \"GPU-evil\"}, {\"uuid\": \"GPU-evil\", \"reason\": \"\\u009b2J\"}"
is "$(api GET /v1/gpus/GPU-evil | at gpu.drained) $(api GET "/v1/gpus/box1:$bad" | at gpu.drain.reason | cut -d= -f1)" "False ECC_DBE_VOL_TOTAL" \
    "a box drains no GPU of another one, nor its own without words"
say '{"uuid": "GPU-evil", "reason": "Xid 48"}, {"uuid": "GPU-evil", "reason": "Xid 48"}'
is "$(api GET /v1/gpus/GPU-evil | at gpu.drain.reason) $("$ctl" events --lines 50 | grep -c 'gpu.drained.*Xid 48')" "Xid 48 1" "what it repeats is one event"
ok "the invariants hold" invariants
"$ctl" drain "box1:$bad" --reason 'to be swapped'
inject "$bad" xid 95
ok "a fault of a GPU that an administrator has drained" await "the Xid" log_has 'Xid 95.*action=end'
await "the end of all leases" unheld
ok "a whole box is tested" "$ctl" test box1 --mem 1M
like "$(cat "$TMP/ok.out")" "^gpu 1 to gpu 0: copies: passed" "with the ways between its GPUs"
like "$(cat "$TMP/ok.out")" "^box1:$bad passed and stays drained" "what an administrator drained stays so"
is "$(api GET "/v1/gpus/box1:$bad" | at gpu.drain.reason)" "to be swapped" "with its reason"
is "$(api GET "/v1/gpus/box1:$other" | at gpu.drained)" False "what the box drained is back"
for i in {1..60}; do inject "$other" xid 13; done
counts_all() { metrics | grep -q "^rgpu_box_gpu_faults_total{gpu=\"$other\",.*,class=\"application\"} 60$"; }
ok "any number of faults of programs is counted" await "the count" counts_all
ok "and fills no log" [ "$(grep -c 'Xid 13,' "$BOX_LOG")" -le 20 ]
stop "$BOX_PID" KILL

: >"$RGPU_SIM_FAULTS"
export RGPU_SIM_BAD_MEMORY=2
start_cuda_box box2
unset RGPU_SIM_BAD_MEMORY
status=0
"$ctl" test box2 --mem 1M >"$TMP/out" 2>&1 || status=$?
is $status 4 "a GPU with bad memory fails"
like "$(cat "$TMP/out")" "^gpu 1 .*: memory \(1 MiB\): [12] words are wrong" "by its words"
"$ctl" undrain box2:0
await "the end of its lease" unheld
status=0
"$ctl" test box2:1 --mem 1M >"$TMP/out" 2>&1 || status=$?
is "$status $(api GET /v1/gpus/box2:1 | at gpu.drain.reason)" "4 failed rgpuctl test" "and is drained"
await "the end of its lease" unheld
ok "the other one of its box passes" "$ctl" test box2:0 --mem 1M
stop "$BOX_PID" KILL

: >"$RGPU_SIM_FAULTS"
export RGPU_SIM_MIG=0/2
start_cuda_box box3 --memory-check 100ms
unset RGPU_SIM_MIG
drained_of() { api GET /v1/gpus | python3 -c '
import json, sys
print(*sorted(gpu["uuid"][:3] + ":" + str(gpu["drained"]) for gpu in json.load(sys.stdin)["gpus"] if gpu["box"] == sys.argv[1]))' "$1"; }
is "$(drained_of box3)" "GPU:False MIG:False MIG:False" "a box with a divided GPU is well"
inject 0 xid 95
drains() { [ "$(drained_of box3)" = "$1" ]; }
ok "a fault of a divided GPU drains all of its instances" await "the drains" drains "GPU:False MIG:True MIG:True"
stop "$BOX_PID" KILL

: >"$RGPU_SIM_FAULTS"
start_box --memory-check 100ms --gpu-faults 'reset:count, 79:warn, application:end'
inject 0 xid 79
ok "a site can treat an Xid in its own way" await "the Xid" log_has 'Xid 79.*class=reset action=warn'
inject 0 xid 62
ok "or a class" await "the Xid" log_has 'Xid 62.*class=reset action=count'
ok "a box without a broker serves" on_box "$BUILD/tests/programs/saxpy"
inject 0 xid 13
ok "and ends what is to end" await "the Xid" log_has 'Xid 13.*class=application action=end'
fails "and gives nobody the GPU then" on_box "$BUILD/tests/programs/saxpy"
like "$(cat "$TMP/ok.out")" 'GPU 0 is out of service: Xid 13, exception in the compute engine' "which it says"
for words in reset reset:stop 0:warn :warn gone:warn; do
    fails "gpu_faults = $words is refused" "$BUILD/bin/rgpud" --check-config --standalone --devices sim:1 --gpu-faults "$words"
done
done_testing
