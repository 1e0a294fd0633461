#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease that is suspended gives its GPU to who waits for it, and takes it again when it is to return; over restarts of
# the broker, too, and whatever is said of it meanwhile.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker
start_cuda_box box1 --devices sim:1
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
suspension() { api GET "/v1/leases/$1" | at lease.suspension; }
is_waiting() { "$ctl" leases --json | grep -q '"state":"queued"'; }
none_left() { [ -z "$("$ctl" leases --json)" ]; }

hold_lease one 8
one=$LEASE
start two "$ctl" run -- "$BUILD/tests/programs/saxpy"
ok "another job waits for the GPU" await "it waits" is_waiting
ok "the first is suspended" "$ctl" suspend "$one"
is "$(suspension "$one")" suspended "which the pool shows"
like "$("$ctl" leases)" 'suspended' "and the list of leases"
like "$("$ctl" sessions --json)" '"suspension":"suspended"' "and that of sessions"
ok "the other has run" wait "${line_pid[two]}"
look one
fails "the first gets no answer" read_line one 0.2
ok "the rules of the pool hold" invariants
stop "$BROKER_PID" KILL
start_broker
await "the box is back" box_is box1 up
is "$(suspension "$one")" suspended "a broker that is started again knows"
ok "its GPU is still for others" "$ctl" run -- "$BUILD/tests/programs/saxpy"
ok "it is resumed" "$ctl" resume "$one"
ok "and goes on with its data" await_line one '^right 1$'
is "$(suspension "$one")" "" "as if nothing had been"

ok "once more" "$ctl" suspend "$one"
hold_lease two 8
ok "it is to return while another has the GPU" "$ctl" resume --no-wait "$one"
is "$(suspension "$one")" returning "which it waits for"
fails "nobody waits for longer than is said" "$ctl" resume --timeout 100ms "$one"
like "$(cat "$TMP/ok.out")" '^rgpuctl resume: not within 100ms$' "which is said"
look one
fails "in silence" read_line one 0.2
stop "${line_pid[two]}"
ok "it returns when that has ended" await_line one '^right 2$'
ok "the rules of the pool hold" invariants

ok "a suspended lease" "$ctl" suspend "$one"
ok "can be revoked" "$ctl" revoke "$one"
ok "and is over" await "the end" none_left
stop "${line_pid[one]}"

start_cuda_box impatient --devices sim:1 --suspend-timeout 1s
hold_lease busy "1 600000000000" --constraint box=impatient
fails "a kernel that does not end keeps its lease on the GPU" "$ctl" suspend "$LEASE"
like "$(cat "$TMP/ok.out")" 'is not suspended: its work on the GPU does not come to an end' "which is said"
is "$(suspension "$LEASE")" "" "and it is not suspended"
fails "who does not live is not suspended" "$ctl" suspend L000000000000000
stop "${line_pid[busy]}"
ok "all leases are over" await "the end" none_left
ok "the invariants hold" invariants --idle
done_testing
