#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease that asks for nothing leaves its GPU to others of the pool by itself. With its first call it queues up for the
# GPU, before those who come later, and goes on with its data; and a call that waits too long fails clearly.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
declare -A lease=()
# job NAME [CONSTRAINT]: a lease with a program that looks at its data when told to.
job() {
    hold_lease "$1" 8 ${2:+--constraint "$2"}
    lease[$1]=$LEASE
}
is_so() { [ "$(api GET "/v1/leases/${lease[$1]}" | at lease.suspension)" = "$2" ]; }
is_waiting() { "$ctl" leases --json | grep -q '"state":"queued"'; }
busy() { start "$1" "$ctl" run ${2:+--constraint "$2"} -- "$BUILD/tests/programs/endure" --busy; }

start_cuda_box box1 --devices sim:1 --idle-suspend 1s
job one
ok "a lease that asks for nothing is suspended" await "that" is_so one suspended
is "$(api GET "/v1/leases/${lease[one]}" | at lease.idle)" True "until it asks for something, as is said"
busy other
ok "another has its GPU" await_line other 'round 0'
other=$PID
look one
ok "its first call has it wait for the GPU" await "that" is_so one returning
ok "the rules of the pool hold" invariants
start late "$ctl" run -- "$BUILD/tests/programs/saxpy"
await "one who comes later" is_waiting
fails "it waits" read_line one 0.2
stop "$other"
ok "when the GPU is free it goes on with its data, before who came later" await_line one '^right 1$'
ok "who has the GPU when it is idle again" wait "${line_pid[late]}"
ok "it is suspended again" await "that" is_so one suspended

stop "$BROKER_PID" KILL
start_broker
await "the box is back" box_is box1 up
is "$(api GET "/v1/leases/${lease[one]}" | at lease.idle)" True "a broker that is started again knows"
look one
ok "and lets it return" await_line one '^right 2$'
await "idleness" is_so one suspended
ok "an administrator may suspend what is idle" "$ctl" suspend "${lease[one]}"
look one
fails "which then stays so whatever it asks for" read_line one 0.5
ok "until he has it resumed" "$ctl" resume "${lease[one]}"
ok "and it goes on" await_line one '^right 3$'
stop "${line_pid[one]}"

start_cuda_box box2 --devices sim:1 --idle-suspend 1s --suspend-wait 1s
job two box=box2
await "idleness" is_so two suspended
busy there box=box2
await_line there 'round 0' || bail "no GPU"
look two
ok "a call that waits longer than suspend_wait fails" await_line two 'CUDA_ERROR'
# The box says so once the worker has ended, and the client knows before.
ok "and why is said" await "the reason" grep -q 'a call has waited 1 s for the lease, which is suspended' "$BOX_LOG"
ok "the rules of the pool hold" invariants
done_testing
