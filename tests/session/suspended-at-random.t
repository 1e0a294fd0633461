#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sessions are suspended, resumed and killed at random while their programs work: whoever lives has its data. A seed of
# the environment (SEED) repeats a run, STEPS makes it longer.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/suspending.sh"

SEED=${SEED:-$((EPOCHSECONDS % 32768))} STEPS=${STEPS:-40}
RANDOM=$SEED
diag "SEED=$SEED STEPS=$STEPS"
export RGPU_SIM_MEMORY=768M
start_box --devices sim:1 --admin-socket "$TMP/admin"
declare -A id=() looks=() transport=([a]=shm [b]=tcp [c]=shm [d]=tcp)
begin() { hold "$1" "$((RANDOM % 12 + 1))" "RGPU_TRANSPORT=${transport[$1]}"; id[$1]=$(last_session) looks[$1]=0; }
for name in a b c d; do begin "$name"; done
wrong=0
for ((step = 0; step < STEPS; step++)); do
    names=(a b c d)
    name=${names[RANDOM % 4]}
    case $((RANDOM % 8)) in
    0 | 1 | 2) ((++looks[$name])) && look "$name" ;;
    3 | 4) ctl suspend "${id[$name]}" 2>>"$TMP/ctl.log" || wrong=$((wrong + 1)) ;;
    5) ctl resume "${id[$name]}" 2>>"$TMP/ctl.log" || true ;; # it may run
    6) ctl suspend --no-wait "${id[$name]}" && ctl resume --no-wait "${id[$name]}" || true ;;
    7) stop "${line_pid[$name]}" KILL && begin "$name" ;;
    esac
done
is "$wrong" 0 "each order to suspend is carried out"
for name in a b c d; do
    ctl resume "${id[$name]}" 2>>"$TMP/ctl.log" || true
    look "$name"
    ok "$name has its data at the end" await_line "$name" "^(right $((looks[$name] + 1))\$|wrong)"
    unlike "$LINE" wrong "$name: they are right"
done
unlike "$(cat "$BOX_LOG")" 'lost error=|signal' "no session was lost, and nothing has crashed"
done_testing
