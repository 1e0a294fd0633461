#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: sessions over verbs that lose their connection. PROGRAMS of the environment run in place of those below, TIMES
# times each, while every connection is cut as soon as it stands.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/session/faults.sh"

run_checks rdma-again

start_rdma_box
sessions() { "$BUILD/bin/rgpuctl" sessions --socket "$RDMA_ADMIN" "$@"; }
reconnecting() { sessions | grep -q reconnecting; }
no_sessions() { [ -z "$(sessions --json)" ]; }
lost() { grep -c 'is lost, the session waits' "$BOX_LOG" || true; }
continued() { grep -c 'continues over another connection' "$BOX_LOG" || true; }
begun() { grep -c 'session=[0-9]* transport=rdma' "$BOX_LOG" || true; }
more_continued() { [ "$(continued)" -gt "$continued_before" ]; }

# The connection of a session passes the proxy, its queue pairs do not.
start cutter python3 -B "$TOP/tests/session/cutter.py" "$BOX" "${SEED:-1}" 1000000000 1000000 1000000000
CUTTER=$PID
await_line cutter '^port ([0-9]+)' || bail "no proxy"
BEHIND=127.0.0.1:${LINE#port }
cut() { kill -USR1 "$CUTTER"; }
cut_and_wait() {
    continued_before=$(continued)
    cut
    await "another connection" more_continued
}
endure_behind() {
    start "$1" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BEHIND" RGPU_TRANSPORT=rdma RGPU_LOG=info \
        RGPU_RDMA_ADDRESS="$RDMA_VM_ADDRESS_1" "${@:2}" "$ENDURE"
    await_line "$1" '^round 1$' || bail "no session"
}

# under_cuts PROGRAM...: its results are right although each of its connections is cut.
under_cuts() {
    local status=0 before program count begun
    before=$(continued) begun=$(begun)
    BOXES=$BEHIND over_rdma timeout --kill-after=5 200 "$@" >"$TMP/program.out" 2>"$TMP/program.err" </dev/null &
    program=$!
    until [ "$(begun)" -gt "$begun" ] || ! kill -0 $program 2>/dev/null; do :; done
    while kill -0 $program 2>/dev/null; do
        count=$(continued)
        cut
        until [ "$(continued)" -gt "$count" ] || ! kill -0 $program 2>/dev/null; do :; done
    done
    wait $program || status=$?
    is $status 0 "${*##*/}: right in spite of losses"
    diag "$(($(continued) - before)) losses"
    [ $status = 0 ] || tail -n 5 "$TMP/program.out" "$TMP/program.err" >&2
}

ok "a first session" over_rdma "$BUILD/tests/programs/saxpy"
await "an idle box" is_idle 1
settled() { [ "$(rdma_resources)" = "$before" ]; }
descriptors() { ls "/proc/$BOX_PID/fd" | wc -l; }
as_many_open() { [ "$(descriptors)" = "$open_before" ]; }
before=$(rdma_resources) open_before=$(descriptors)

endure_behind survivor RGPU_RDMA_DEAD_MS=3000
survivor=$PID
for _ in 1 2; do ok "a connection that is cut is made again" cut_and_wait; done
ok "the session goes on" goes_on survivor
for end in 0 1; do tc qdisc add dev rdma$end root netem loss 100%; done
ok "rgpuctl sessions says that a session waits when the network is gone" await "reconnecting" reconnecting
for end in 0 1; do tc qdisc del dev rdma$end root; done
ok "it goes on when the network is back" goes_on survivor
is "$(sessions --json | grep -c '"transport":"rdma"')" 1 "over verbs"
logs "$TMP/survivor.log" 'is lost, the session waits.*seconds=60' "the client's log says that it waited"
kill -KILL "$survivor"
ok "a client that is killed is waited for" await "reconnecting" reconnecting
ok "for seconds only" await "no sessions" no_sessions

endure_behind hurried RGPU_RECONNECT=0
cut
ok "with RGPU_RECONNECT=0 the loss is an error" await_line hurried '^error CUDA_ERROR_DEVICE_UNAVAILABLE'
lost_before=$(lost)
ok "a program that ends" over_rdma "$BUILD/tests/programs/saxpy"
await "no sessions" no_sessions
is "$(lost)" "$lost_before" "is not waited for"

for program in ${PROGRAMS:-small-copies}; do
    for _ in $(seq 1 "${TIMES:-1}"); do under_cuts "$BUILD/tests/programs/$program"; done
done
await "an idle box" is_idle 1
ok "as many queue pairs and regions as before" await "resources to settle" settled
ok "and as many descriptors of the box" await "descriptors to be closed" as_many_open
ok "connections were made again" test "$(continued)" -ge 4
diag "$(continued) connections were made again"
done_testing
