#!/bin/bash
# In the guest: choice of the transport, failures of the network and of either side, resources.
. "$TOP/tests/rdma/guest/common.sh"
saxpy=$BUILD/tests/programs/saxpy
mine=RGPU_RDMA_ADDRESS=$RDMA_VM_ADDRESS_1

log_of() { on_box RGPU_LOG=info "$@" 2>&1 >/dev/null; }

# ---- the choice ----

start_rdma_box
ok "a first session over verbs" over_rdma "$saxpy"
like "$(log_of $mine "$saxpy")" 'session opened.* transport=rdma reason=".*device at' \
    "without shared memory verbs are chosen"
began=$SECONDS
log=$(log_of RGPU_RDMA_ADDRESS=10.99.0.1 "$saxpy")
like "$log" 'transport=tcp reason=".*no rdma: ' "a client whose device leads nowhere takes TCP"
ok "after a moment" [ $((SECONDS - began)) -le 5 ]
fails "unless verbs are forced" on_box RGPU_TRANSPORT=rdma RGPU_RDMA_ADDRESS=10.99.0.1 "$saxpy"
like "$(cat "$TMP/ok.out")" 'RGPU_TRANSPORT=rdma, but no rdma: ' "which is told"
first_box=$BOX first_log=$BOX_LOG
start_box --listen "$RDMA_VM_ADDRESS_0:0" --transports tcp,rdma --rdma-addresses 127.0.0.1
like "$(log_of $mine "$saxpy")" 'transport=tcp reason=".*no rdma: the box offers none' \
    "a box without a device offers TCP"
like "$(cat "$BOX_LOG")" 'no rdma reason="no RDMA device can be used' "and says why"
stop "$BOX_PID"
BOX=$first_box

# ---- locked memory ----

low_memlock() {
    (ulimit -l 64
     setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH="$BUILD/lib" \
         RGPU_BOXES="$BOX" RGPU_LOG=info $mine "$@")
}
log=$(low_memlock "$saxpy" 2>&1 >/dev/null || true)
like "$log" 'RLIMIT_MEMLOCK.*64 KiB; set LimitMEMLOCK' "too low a limit of locked memory is named"
like "$log" 'transport=tcp' "and the session takes TCP"

# ---- the network ----

# endure copies 16 MiB there and back in every round and checks them.
endure=$BUILD/tests/programs/endure
tc qdisc add dev rdma1 root netem delay 1ms
ok "with delay" over_rdma timeout 100 "$BUILD/tests/programs/pinned"
tc qdisc change dev rdma1 root netem loss 0.2%
ok "with loss" over_rdma timeout 100 "$saxpy"
tc qdisc del dev rdma1 root

# start_enduring ROUNDS [VARIABLE...]: until its first round is over. Sets enduring.
start_enduring() {
    local rounds=$1
    shift
    : >"$TMP/rounds"
    over_rdma "$@" "$endure" "$rounds" >"$TMP/rounds" 2>"$TMP/endure.err" &
    enduring=$!
    await "a first round" grep -q '^round' "$TMP/rounds"
}
link_up() {
    ip link set rdma1 up
    ip neigh replace "$RDMA_VM_ADDRESS_0" dev rdma1 nud permanent \
        lladdr "$(cat /sys/class/net/rdma0/address)"
}
start_enduring 8
ip link set rdma1 down
await "nothing to move" timeout 2 sh -c 'cat /proc/loadavg >/dev/null'
link_up
ok "a link that goes down and comes up again in mid-transfer is survived" wait $enduring
like "$(tail -n 1 "$TMP/rounds")" '^round 7' "to the last round"

start_enduring 1000 RGPU_RDMA_DEAD_MS=1500
ip link set rdma1 down
began=$SECONDS status=0
wait $enduring || status=$?
ok "one that stays down ends the session" [ $status = 3 ]
ok "after the time that is set" [ $((SECONDS - began)) -le 12 ]
like "$(cat "$TMP/rounds")" 'error CUDA_ERROR_DEVICE_UNAVAILABLE' "with an error"
link_up

# ---- ends ----

sessions_ended() { grep -c 'session ends' "$first_log" || true; }
more_ended() { [ "$(sessions_ended)" -gt "$ended" ]; }
ended=$(sessions_ended)
start_enduring 1000
kill -KILL $enduring
ok "a client that is killed in mid-transfer is noticed by its worker" await "the end" more_ended
wait $enduring 2>/dev/null || true

# The worker of the session is the one that spends time.
busy_worker() { ps -o pid= --sort=-time -C rgpu-worker | head -n 1; }
start_enduring 1000
kill -KILL $(busy_worker)
status=0
wait $enduring || status=$?
is $status 3 "a worker that is killed in mid-transfer is noticed by its client"
like "$(cat "$TMP/rounds")" 'error CUDA_ERROR_DEVICE_UNAVAILABLE' "which gets an error"
like "$(cat "$TMP/rounds")" '^sticky' "for every call from then on"

# ---- resources ----

settled() { [ "$(rdma_resources)" = "$before" ]; }
ok "one more" over_rdma "$saxpy"
await "the workers to settle" test "$(pgrep -c rgpu-worker)" -ge 1
before=$(rdma_resources)
for _ in {1..20}; do over_rdma "$saxpy" >/dev/null 2>&1 || fail "a session of many"; done
ok "after twenty sessions there are as many queue pairs and regions as before" \
    await "resources to settle" settled
done_testing
