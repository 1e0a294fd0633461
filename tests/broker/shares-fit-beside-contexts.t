#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every GPU of a box is offered only once it is known what a context takes there, so that all shares
# that are granted get their whole budgets, on each GPU and at the same time.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker
gpu() { api GET "/v1/gpus/$1" | at "gpu.$2"; }
gpu_is() { [ "$(gpu "$1" state)" = "$2" ]; }
share() { echo "{\"request\": {\"gpus\": [{\"mode\": \"shared\", \"memory\": $1}]${2:-}}, \"ticket\": true}"; }

# The workers of this box become ready one by one.
# Workers are other users.
chmod a+x "$TMP"
mkfifo -m 666 "$TMP/gate"
exec {gate}<>"$TMP/gate"
mkdir -p "$TMP/box-slow"
api GET /v1/boxes/slow/key | at keys >"$TMP/slow.boxkey"
chmod 600 "$TMP/slow.boxkey"
launch_stub_box STUB_GATE="$TMP/gate" --name slow --auth ticket --key-file "$TMP/slow.boxkey" \
    --broker "$BROKER" --state-dir "$TMP/box-slow" --gpu-mode shared
echo >&$gate
await_stub_box
await "the box in the pool" gpu_is slow:0 free
is "$(gpu slow:1 state)" starting "a GPU whose context is not measured is not offered"
is "$(error_code POST /v1/leases "$(share $((1 << 20)) ', "box": "slow", "different_boxes": false')" | tr -d '\n')" "" "the one that is measured is granted"
is "$(gpu slow:0 context)" $((64 << 20)) "with what a context takes"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{"count": 2, "mode": "shared", "memory": 1048576}]}}')" busy "both are not yet"
printf 'oo' >&$gate # the other GPU's worker, and the first one's that reaches no other
ok "once it is measured" await "the other GPU" gpu_is slow:1 free
is "$(gpu slow:1 context)" $((64 << 20)) "it is offered with that"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{"count": 2, "mode": "shared", "memory": 1048576}]}}')" "" "and both are granted"
stop "$BOX_PID"
start_pool_box slow --gpu-mode shared --warm-workers 0
is "$(gpu slow:0 context) $(gpu slow:1 context)" "$((64 << 20)) $((64 << 20))" "what contexts take is measured all the same"
stop "$BOX_PID"

export RGPU_SIM_MEMORY=1G
start_cuda_box real --devices sim:3 --gpu-mode shared
count=0
while ticket=$(api POST /v1/leases "$(share $((256 << 20)) ', "box": "real"')"); do
    RGPU_TICKET=$(at ticket <<<"$ticket")
    export RGPU_TICKET
    mkfifo "$TMP/p$count.in"
    start "p$count" env LD_LIBRARY_PATH="$BUILD/lib" sh -c 'exec "$0" <"$1"' "$BUILD/tests/broker-hold-memory" "$TMP/p$count.in"
    exec {input[$count]}<>"$TMP/p$count.in"
    count=$((count + 1))
done
is $count 9 "three shares with their contexts fit on each of three GPUs, beside the warm workers"
whole=0
for ((i = 0; i < count; i++)); do
    await_line "p$i" ready || continue
    echo "take $((256 << 20))" >&"${input[$i]}"
    await_line "p$i" . && [ "$LINE" = CUDA_SUCCESS ] && whole=$((whole + 1))
done
is $whole $count "and each gets the whole of its budget"
done_testing
