#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sessions are suspended, resumed, moved and killed at random while their programs work: whoever lives has its data. A
# seed of the environment (SEED) repeats a run, STEPS makes it longer.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/suspending.sh"

SEED=${SEED:-$((EPOCHSECONDS % 32768))} STEPS=${STEPS:-40}
RANDOM=$SEED
diag "SEED=$SEED STEPS=$STEPS"
export RGPU_SIM_MEMORY=768M
printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_box --devices sim:2 --admin-socket "$TMP/admin" --auth ticket --key-file "$TMP/box.key" --name box1
mapfile -t gpus < <(ctl devices --json | sed -n 's/.*"uuid":"\([^"]*\)".*/\1/p')
declare -A lease=() looks=() transport=([a]=shm [b]=tcp [c]=shm [d]=tcp)
leases=0
begin() {
    leases=$((leases + 1))
    lease[$1]=$1$leases looks[$1]=0
    hold "$1" "$((RANDOM % 12 + 1))" "RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" box1 3600 \
        "lease=${lease[$1]}" shared=200000000 "${gpus[RANDOM % 2]}")" "RGPU_TRANSPORT=${transport[$1]}"
}
for name in a b c d; do begin "$name"; done
wrong=0
for ((step = 0; step < STEPS; step++)); do
    names=(a b c d)
    name=${names[RANDOM % 4]} to=box1:$((RANDOM % 2))
    case $((RANDOM % 10)) in
    0 | 1 | 2) ((++looks[$name])) && look "$name" ;;
    3 | 4) ctl suspend "${lease[$name]}" 2>>"$TMP/ctl.log" || wrong=$((wrong + 1)) ;;
    5) ctl resume "${lease[$name]}" 2>>"$TMP/ctl.log" || true ;; # it may run
    6) ctl suspend --no-wait "${lease[$name]}" && ctl resume --no-wait "${lease[$name]}" || true ;;
    7) stop "${line_pid[$name]}" KILL && begin "$name" ;;
    8) ctl move "${lease[$name]}" --to "$to" 2>>"$TMP/ctl.log" || true ;; # it may be there
    9) ctl move --no-wait "${lease[$name]}" --to "$to" 2>>"$TMP/ctl.log" || true ;;
    esac
done
is "$wrong" 0 "each order to suspend is carried out"
for name in a b c d; do
    ctl resume "${lease[$name]}" 2>>"$TMP/ctl.log" || true
    ok "$name can go from one GPU to the other" eval \
        'ctl move "${lease[$name]}" --to box1:0 || ctl move "${lease[$name]}" --to box1:1'
    look "$name"
    ok "$name has its data at the end" await_line "$name" "^(right $((looks[$name] + 1))\$|wrong)"
    unlike "$LINE" wrong "$name: they are right"
done
unlike "$(cat "$BOX_LOG")" 'lost error=|signal' "no session was lost, and nothing has crashed"
done_testing
