#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# On a GPU of which twice as much is promised as there is programs work, are killed, suspended and resumed at random: whoever
# lives has its data, and nobody waits for ever. A seed of the environment (SEED) repeats a run, STEPS makes it longer.
. "$(dirname "$0")/../broker/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

SEED=${SEED:-$((EPOCHSECONDS % 32768))} STEPS=${STEPS:-30}
RANDOM=$SEED
diag "SEED=$SEED STEPS=$STEPS"
export RGPU_SIM_MEMORY=512M
start_broker
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key
start_cuda_box box1 --devices sim:1 --gpu-mode shared --overcommit 2.0 --overcommit-quantum 100ms --admin-socket "$TMP/admin"
declare -A say_to=() looks=() lease=() transport=([a]=shm [b]=tcp [c]=shm [d]=tcp)
leases() { "$ctl" leases --json | sed -n 's/.*"id":"\([^"]*\)".*/\1/p' | sort; }
# Each program has a third to all of what its budget allows.
begin() {
    local fd before
    before=$(leases)
    rm -f "$TMP/$1.in"
    mkfifo "$TMP/$1.in"
    exec {fd}<>"$TMP/$1.in"
    say_to[$1]=$fd looks[$1]=0
    start "$1" env RGPU_TRANSPORT="${transport[$1]}" "$ctl" run --mem 160M -- bash -c 'exec "$1" "$2" <"$3"' - \
        "$BUILD/tests/held-data" $((RANDOM % 30 + 15)) "$TMP/$1.in"
    await_line "$1" '^ready' || bail "$1 does not start"
    lease[$1]=$(comm -13 <(echo "$before") <(leases) | tail -n 1)
}
look() { echo look >&"${say_to[$1]}"; }
order() { "$ctl" "$1" --no-wait "$2" 2>>"$TMP/ctl.log" || true; }
names=(a b c d)
for name in "${names[@]}"; do begin "$name"; done
for ((step = 0; step < STEPS; step++)); do
    name=${names[RANDOM % 4]}
    case $((RANDOM % 10)) in
    0 | 1 | 2 | 3 | 4 | 5) ((++looks[$name])) && look "$name" ;;
    6) order suspend "${lease[$name]}" ;;
    7) order resume "${lease[$name]}" ;;
    8) order suspend "${lease[$name]}" && order resume "${lease[$name]}" ;;
    9) pkill -KILL -P "${line_pid[$name]}" && begin "$name" ;;
    esac
done
for name in "${names[@]}"; do order resume "${lease[$name]}"; done
for name in "${names[@]}"; do
    look "$name"
    ok "$name gets to its end" await_line "$name" "^(right $((looks[$name] + 1))\$|wrong|.*ERROR)"
    unlike "$LINE" 'wrong|ERROR' "$name has its data"
done
unlike "$(cat "$BOX_LOG")" 'lost error=|signal' "no session was lost, and nothing has crashed"
ok "the rules of the pool hold" invariants
done_testing
