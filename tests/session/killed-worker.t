#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a worker: its client gets an error that stays and does not hang, other sessions and
# new ones are untouched.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
start_box --devices sim:1
for transport in shm tcp; do
    start_session other "RGPU_TRANSPORT=$transport"
    other=$PID
    start_session victim "RGPU_TRANSPORT=$transport"
    victim=$PID
    # The victim's worker is the one whose CPU time grows while the other session is stopped.
    kill -STOP "$other"
    declare -A before=()
    for pid in $(workers); do before[$pid]=$(awk '{print $14+$15}' "/proc/$pid/stat"); done
    drain victim
    for _ in 1 2 3 4 5 6; do await_line victim '^round' || true; done
    busiest= most=0
    for pid in $(workers); do
        spent=$(($(awk '{print $14+$15}' "/proc/$pid/stat") - ${before[$pid]:-0}))
        if [ $spent -gt $most ]; then most=$spent busiest=$pid; fi
    done
    kill -CONT "$other"
    [ -n "$busiest" ] || bail "no worker works"
    kill -KILL "$busiest"
    ok "$transport: the client of a killed worker gets an error" await_line victim '^error '
    like "$LINE" 'CUDA_ERROR_' "$transport: one of the ABI's ($LINE)"
    ok "$transport: which stays" await_line victim '^sticky'
    gone() { ! kill -0 "$victim" 2>/dev/null; }
    ok "$transport: the client ends by itself" await "it ends" gone
    ok "$transport: the other session goes on" goes_on other
    ok "$transport: a new session works" on_box "RGPU_TRANSPORT=$transport" "$ENDURE" 2
    stop "$other"
done
logs "$BOX_LOG" 'signal' "the box explains the worker's end"
done_testing
