#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A session that is suspended gives its memory of the GPU to others, waits, and goes on with its data; and whatever
# goes wrong in between is said and harms nobody else.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/suspending.sh"
requires python3 prlimit

export RGPU_SIM_MEMORY=512M
start_box --devices sim:1 --admin-socket "$TMP/admin" --metrics-listen 127.0.0.1:0 --memory-check 200ms --suspend-memory 400M \
    --suspend-timeout 2s --worker-backoff-max 1s
metrics=$(grep -o 'metrics_listen=.* port=[0-9]*' "$BOX_LOG" | grep -o '[0-9]*$')
figure() {
    web "http://127.0.0.1:$metrics/metrics" |
        sed -n "s/^rgpu_box_suspended_$1 //p"
}
suspended_of_gpu() { ctl devices --json | sed -n 's/.*"suspended":\([0-9]*\).*/\1/p'; }
for transport in shm tcp; do
    hold "$transport" 40 "RGPU_TRANSPORT=$transport"
    id=$(last_session)
    look "$transport"
    ok "$transport: a program has its data on the GPU" await_line "$transport" '^right 1$'
    ok "$transport: its session is suspended" ctl suspend "$id"
    is "$(state_of "$id")" suspended "$transport: which is shown"
    is "$(suspended_of_gpu) $(figure sessions)" "1 1" "$transport: and counted"
    ok "$transport: with the memory that it takes" [ "$(figure bytes | sed 's/[.e].*//')" != 0 ]
    ok "$transport: its memory is off the GPU" await "the figures" taken_below 200
    look "$transport"
    ok "$transport: a program needs what it had, and has it" on_box "$ENDURE" 2
    ok "$transport: since its context has left the GPU, too" log_has "session=$id suspension=suspended was=suspended"
    fails "$transport: the suspended one gets no answer" read_line "$transport" 0.1
    ok "$transport: it is resumed" ctl resume "$id"
    ok "$transport: and goes on with its data" await_line "$transport" '^right 2$'
    is "$(suspended_of_gpu) $(figure sessions) $(figure bytes)" "0 0 0" "$transport: nothing is suspended any more"
    look "$transport"
    ok "$transport: and on" await_line "$transport" '^right 3$'
    ok "$transport: twice is no more than once" eval "ctl suspend $id && ctl suspend $id"
    ok "$transport: back" ctl resume "$id"
    fails "$transport: what runs cannot be resumed" ctl resume "$id"
    worker=$(worker_of "$id")
    stop "${line_pid[$transport]}"
    await "the end of its worker, which has memory" gone "$worker"
done

saved() { grep -c 'device memory is in the host' "$BOX_LOG"; }
before=$(saved)
ok "workers have moved the memory of ordinary allocations themselves" [ "$before" -ge 4 ]
hold capturing 8
id=$(last_session) worker=$(worker_of "$(last_session)")
echo capture >&"${say_to[capturing]}"
ok "a program captures a graph" await_line capturing '^capturing$'
ok "it is suspended meanwhile" ctl suspend "$id"
is "$(saved)" "$before" "by the driver alone, as other calls would end the capture"
ok "it is resumed" ctl resume "$id"
look capturing
ok "and its capture goes on" await_line capturing '^captured$'
ok "as do its data" await_line capturing '^right 1$'
stop "${line_pid[capturing]}"
await "the end of its worker" gone "$worker"

fails "a name longer than any lease's is nobody's" ctl suspend --no-wait "$(printf 'x%.0s' {1..150})"
like "$(cat "$TMP/ok.out")" 'no lease has so long a name' "which is said"

hold large 120
id=$(last_session)
fails "no more is suspended than suspend_memory allows" ctl suspend "$id"
like "$(cat "$TMP/ok.out")" 'does not fit: suspend_memory allows images of 400 MiB' "which is said"
look large
ok "the program runs on" await_line large '^right 1$'
worker=$(worker_of "$id")
stop "${line_pid[large]}"
await "the end of its worker" gone "$worker"

hold limited 20
id=$(last_session) worker=$(worker_of "$(last_session)")
status_of() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$worker/status"; }
# bound BYTES: so much the worker may have of its own.
bound() {
    local command=(prlimit --pid "$worker" "--data=$1:")
    [ "$(status_of Uid)" = "$(id -u)" ] || command=(as_user "$(status_of Uid)" "${command[@]}")
    "${command[@]}"
}
bound $((($(status_of VmData) + 65536) * 1024))
fails "nor more than a worker may have" ctl suspend "$id"
bound unlimited
like "$(cat "$TMP/ok.out")" 'does not fit: worker_memory allows a worker [0-9]+ MiB, of which [0-9]+ MiB are taken' "which is said"
look limited
ok "the program runs on" await_line limited '^right 1$'
stop "${line_pid[limited]}"
await "the end of its worker" gone "$worker"

hold busy "1 600000000000"
fails "work that does not end keeps its session on the GPU" ctl suspend "$(last_session)"
like "$(cat "$TMP/ok.out")" 'does not come to an end' "which is said"
stop "${line_pid[busy]}"

hold first 40
one=$(last_session)
ctl suspend "$one"
hold second 100
ok "it is to come back while its memory is taken" ctl resume --no-wait "$one"
is "$(state_of "$one")" "waits for memory" "which it waits for"
look first
stop "${line_pid[second]}"
ok "and comes back when that is free" await_line first '^right 1$'

ctl suspend "$one"
worker=$(worker_of "$one")
stop "${line_pid[first]}" KILL
ok "who dies suspended leaves nothing behind" await "its worker's end" gone "$worker"

# A process that has left the driver, and that nobody has reaped yet.
ended_while_suspended() {
    python3 - "$BUILD/bin/rgpu-suspender" "$BUILD/lib/libcuda-sim.so" <<'PYTHON'
import os, subprocess, sys
child = os.fork() or os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(subprocess.run([sys.argv[1], "resume", "-", sys.argv[2], str(child)], stdout=subprocess.PIPE).stdout.decode(), end="")
PYTHON
}
is "$(RGPU_SIM_STATE=$TMP/state ended_while_suspended)" done "who ends while it is brought back is not lost, but gone"

first_box=$BOX_PID
start_box --devices sim:1 --admin-socket "$TMP/admin2" --movable-memory no
hold by_driver 8
ok "with movable_memory = no the driver moves all memory" "$BUILD/bin/rgpuctl" suspend 1 --socket "$TMP/admin2"
is "$(saved)" 0 "and workers none"
ok "it returns" "$BUILD/bin/rgpuctl" resume 1 --socket "$TMP/admin2"
look by_driver
ok "with its data" await_line by_driver '^right 1$'
stop "${line_pid[by_driver]}"
stop "$BOX_PID"
stop "$first_box"

start_box --devices sim:1 --admin-socket "$TMP/admin"
hold one 10
hold two 10
id=$(last_session)
ctl suspend "$id"
look two
stop "$BOX_PID" KILL
ok "a box that dies takes suspended sessions along, with an error" await_line two 'CUDA_ERROR'
done_testing
