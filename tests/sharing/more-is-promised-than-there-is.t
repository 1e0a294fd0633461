#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Leases of a GPU may be promised more memory than it has: they have it by turns, all that work get on, each has its data,
# and what cannot be is said.
. "$(dirname "$0")/../broker/broker.sh"
. "$TOP/tests/session/held.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

export RGPU_SIM_MEMORY=512M
start_broker
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key
start_cuda_box box1 --devices sim:1 --gpu-mode shared --overcommit 2.0 --overcommit-quantum 200ms --admin-socket "$TMP/admin" --metrics-listen 127.0.0.1:0
box1=$BOX_PID metrics=$(grep -o 'metrics_listen=.* port=[0-9]*' "$BOX_LOG" | grep -o '[0-9]*$')
figure() {
    web "http://127.0.0.1:$metrics/metrics" |
        sed -n "s/^rgpu_box_$1[ {].* //p" | head -n 1
}
# job NAME BUDGET MIB [CONSTRAINT]: a program with three times MIB, which looks at its data when told to.
job() { start_held "$1" "$3" "$ctl" run --no-wait --mem "$2" ${4:+--constraint "$4"} --; }
suspended() { "$ctl" sessions --socket "$TMP/admin" --json | grep -c '"suspension":"suspended"'; }
are_suspended() { [ "$(suspended)" -ge 1 ]; }
one_is_left() { [ "$("$ctl" sessions --socket "$TMP/admin" --json | wc -l)" = 1 ]; }

fails "no lease is promised more than the GPU has" "$ctl" run --no-wait --mem 600M -- true
names=(a b c d)
for name in "${names[@]}"; do
    job "$name" 160M 40
    ok "$name has its memory" await_line "$name" '^ready'
done
fails "more than that factor is not promised" "$ctl" run --no-wait --mem 300M -- true
ok "not all are on the GPU at once" are_suspended
is "$(figure gpu_overcommit)" 2 "metrics have the factor"
like "$("$ctl" gpus --json)" '"overcommit": ?200' "so has the pool"
for name in "${names[@]}"; do look "$name" 6; done
for name in "${names[@]}"; do
    ok "$name gets on while all work" await_line "$name" '^(right 6$|wrong|.*ERROR)'
    is "$LINE" "right 6" "$name has its data"
done
ok "the rules of the pool hold" invariants
unlike "$(cat "$BOX_LOG")" "the driver moves the device memory" "calls that wait do not keep workers from moving the memory themselves"

for name in "${names[@]}"; do look "$name" 3; done
stop "${line_pid[a]}" KILL
stop "${line_pid[b]}" KILL
for name in c d; do
    ok "others are killed, and $name gets on" await_line "$name" '^(right 9$|wrong|.*ERROR)'
    is "$LINE" "right 9" "$name has its data"
done
stop "${line_pid[c]}"
ok "what was theirs is free" await "their ends" one_is_left
look d
ok "the last one has the GPU" await_line d '^right 10$'
job e 160M 40
ok "another comes" await_line e '^ready'
stop "$box1" KILL
for name in d e; do
    look "$name"
    ok "a box that dies takes all along, with an error for $name" await_line "$name" 'CUDA_ERROR'
done

start_cuda_box box2 --devices sim:1 --gpu-mode shared --overcommit 2.0 --overcommit-quantum 200ms --suspend-memory 1M --suspend-wait 1s \
    --admin-socket "$TMP/admin"
job f 300M 90 box=box2
await_line f '^ready' || bail "no memory"
job g 300M 90 box=box2
ok "where nothing can be suspended who comes later has no memory" await_line g 'CUDA_ERROR_OUT_OF_MEMORY'
logs "$BOX_LOG" 'does not give way to others that wait reason="its memory, [0-9]* MiB, does not fit: suspend_memory' "since images have no room"
logs "$BOX_LOG" 'out of memory, since others did not give way for 1 s' "and it waited too long"
look f
ok "and who came first has all it had" await_line f '^right 1$'
done_testing
