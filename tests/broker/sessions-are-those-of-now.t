#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The pool's sessions are shown as they are when somebody asks, and not as the boxes reported them last:
# boxes report so seldom here that nothing of this could be seen otherwise. What a box that stands still
# last said is shown as such.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/hold_memory.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker --heartbeat 9min --away-after 1h
declare -A box_pid=()
for name in box1 box2; do
    start_cuda_box $name
    box_pid[$name]=$PID
done
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
box=$(at lease.gpus.0.box <<<"$lease")

shown() { "$ctl" sessions --json | grep -c '"lease"' || true; }

is "$(shown)" 0 "nothing runs"
program one
is "$(shown)" 1 "a session is shown as soon as it is open"
program two
is "$(shown)" 2 "and a second"
tell one take $((64 << 20)) >"$TMP/taken"
like "$("$ctl" sessions)" "^$box .*broker-hold-memory" "with its box"
unlike "$("$ctl" sessions 2>&1)" 'does not answer' "and all of it is of now"
stop "${line_pid[two]}" KILL
one_left() { [ "$(shown)" = 1 ]; }
ok "one that was killed goes as soon as its box knows" await "its end" one_left
many() { for _ in 1 2 3 4 5 6 7 8; do shown & done | sort | uniq -c | xargs; wait; }
is "$(many)" "8 1" "several who ask at once are all told"

# A box that stands still is waited for a moment only.
kill -STOP "${box_pid[$box]}"
out=$("$ctl" sessions 2>&1)
kill -CONT "${box_pid[$box]}"
like "$out" "box $box does not answer; its sessions are those of its last report" "a box that stands still is named"
like "$out" "^$box .*broker-hold-memory" "with what it said last"
unlike "$("$ctl" sessions 2>&1)" 'does not answer' "when it goes on, all is of now"
is "$(shown)" 1 "and the session is there"
ok "the program ends" tell one free
exec {input[one]}>&-
none_left() { [ "$(shown)" = 0 ]; }
stop "${line_pid[one]}"
ok "and is shown no more" await "its end" none_left
done_testing
