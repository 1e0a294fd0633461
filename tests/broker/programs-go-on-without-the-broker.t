#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The broker is killed: programs go on, a ticket opens another session, and when it is started again, it has all leases, and requests
# still wait.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

ctl=$BUILD/bin/rgpuctl
start_broker
start_cuda_box box1 --devices sim:1 --gpu-mode shared
start_cuda_box box2 --devices sim:1
export RGPU_BROKER=unix:$BROKER_SOCKET
round=0
# all_answer NAME...: these programs have their data.
all_answer() {
    local name
    round=$((round + 1))
    for name; do look "$name"; done
    for name; do await_line "$name" "^right $round\$" >/dev/null || return 1; done
}
ticket=$(api POST /v1/leases '{"request": {"gpus": [{"mode": "shared", "memory": 67108864}]}, "ticket": true}')
use() { LD_LIBRARY_PATH=$BUILD/lib RGPU_TICKET=$(at ticket <<<"$ticket") "$BUILD/tests/programs/saxpy"; }
hold_lease one 1 --mem 64M
hold_lease two 1 --mem 64M
hold_lease far 1 --constraint box=box2
start waiting "$ctl" run --constraint box=box2 -- "$BUILD/tests/programs/saxpy"
is_waiting() { [ "$("$ctl" leases --json | grep -c '"state":"queued"')" = 1 ]; }
ok "a request waits" await "it waits" is_waiting
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
ok "the broker is killed: all programs go on" all_answer one two far
ok "the broker is killed: a ticket opens a session" use
start_broker
for box in box1 box2; do await "$box" box_is $box up; done
ok "the broker is started again: the request still waits" is_waiting
is "$("$ctl" leases --json | grep -c '"state":"granted"')" 4 "the broker is started again: the leases are as they were"

ok "and the programs go on" all_answer one two far
stop "${line_pid[far]}"
ok "the request gets the GPU that comes free" wait "${line_pid[waiting]}"
stop "${line_pid[one]}"
stop "${line_pid[two]}"
logs "$TMP/waiting.log" 'the request waits for it for 120 s' "whose rgpuctl run has said that the broker was away"
ok "the invariants hold" invariants
done_testing
