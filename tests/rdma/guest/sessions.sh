#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: the choice of the transport, and networks that delay, lose and stop.
. "$TOP/tests/rdma/guest/common.sh"
saxpy=$BUILD/tests/programs/saxpy
mine=RGPU_RDMA_ADDRESS=$RDMA_VM_ADDRESS_1

log_of() { on_box RGPU_LOG=info "$@" 2>&1 >/dev/null; }

# ---- the choice ----

start_rdma_box
ok "a first session over verbs" over_rdma "$saxpy"
like "$(log_of $mine "$saxpy")" 'session opened.* transport=rdma reason=".*device at' \
    "without shared memory verbs are chosen"
log=$(log_of RGPU_RDMA_ADDRESS=10.99.0.1 "$saxpy")
like "$log" 'transport=tcp reason=".*no rdma: ' "a client whose device leads nowhere takes TCP"
fails "unless verbs are forced" on_box RGPU_TRANSPORT=rdma RGPU_RDMA_ADDRESS=10.99.0.1 "$saxpy"
like "$(cat "$TMP/ok.out")" 'RGPU_TRANSPORT=rdma, but no rdma: ' "which is told"
first_box=$BOX first_log=$BOX_LOG
start_box --listen "$RDMA_VM_ADDRESS_0:0" --transports tcp,rdma --rdma-addresses 127.0.0.1
like "$(log_of $mine "$saxpy")" 'transport=tcp reason=".*no rdma: the box offers none' \
    "a box without a device offers TCP"
logs "$BOX_LOG" 'no rdma reason="no RDMA device can be used' "and says why"
stop "$BOX_PID"
BOX=$first_box

# ---- locked memory ----

# As a user who need not be able to see this tree.
share "$saxpy" "$BUILD/tests/programs/pinned" "$BUILD/lib/libcuda.so.1"
# low_memlock KIB PROGRAM...
low_memlock() {
    (ulimit -l "$1"
     shift
     as_user 65534 env LD_LIBRARY_PATH="$SHARED" \
         RGPU_BOXES="$BOX" RGPU_LOG=info $mine "$@")
}
log=$(low_memlock 64 "$SHARED/saxpy" 2>&1 >/dev/null || true)
like "$log" 'RLIMIT_MEMLOCK.*64 KiB; set LimitMEMLOCK' "too low a limit of locked memory is named"
like "$log" 'transport=tcp' "and the session takes TCP"
log=$(low_memlock 21000 "$SHARED/pinned" 2>&1 || true)
like "$log" 'transport=rdma' "a limit that is enough for a session"
like "$log" 'the slower way: .*RLIMIT_MEMLOCK' "but not for the memory that the program locks"
unlike "$log" '^not ok' "copies it all the same"
like "$log" '^1\.\.[1-9]' "to the end"

ok "a limit of file sizes below that of a ring" over_rdma bash -c 'ulimit -f 1024; exec "$1"' - "$saxpy"

# ---- the network ----

# endure copies 16 MiB there and back in every round and checks them.
endure=$BUILD/tests/programs/endure
tc qdisc add dev rdma1 root netem delay 1ms
ok "with delay" over_rdma timeout 400 "$BUILD/tests/programs/pinned"
tc qdisc change dev rdma1 root netem loss 0.2%
ok "with loss" over_rdma timeout 400 "$saxpy"
tc qdisc del dev rdma1 root

# start_enduring ROUNDS [VARIABLE...]: until its first round is over. Sets enduring.
start_enduring() {
    local rounds=$1
    shift
    : >"$TMP/rounds"
    over_rdma "$@" "$endure" "$rounds" >"$TMP/rounds" 2>"$TMP/endure.err" &
    enduring=$!
    await "a first round" grep -q '^round' "$TMP/rounds" || tail -n 5 "$TMP/endure.err" >&2
}
# A cable that is pulled: nothing passes any more, and neither end's interface knows.
cable() {
    case $1 in
    out) tc qdisc add dev rdma0 root netem loss 100% && tc qdisc add dev rdma1 root netem loss 100% ;;
    in) tc qdisc del dev rdma0 root && tc qdisc del dev rdma1 root ;;
    esac
}
dropped() { tc -s qdisc show dev rdma1 | grep -Eq 'dropped [1-9]'; }
# An emulated machine takes its time to put the cable back, so both ends are patient.
start_rdma_box --rdma-dead-time 60s
ok "another box" over_rdma "$saxpy"
start_enduring 3 RGPU_RDMA_DEAD_MS=60000
cable out
await "packets that are lost" dropped
cable in
ok "a link that goes down and comes up again in mid-transfer is survived" wait $enduring
like "$(cat "$TMP/rounds")" '^round 2' "to the last round"
done_testing
