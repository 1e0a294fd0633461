#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: the transport tests against rdma, and what only verbs have.
. "$TOP/tests/rdma/guest/common.sh"
export RGPU_TEST_TRANSPORT=rdma

# run_list NAME...: each program prints TAP of its own; here it is one check, shown where it fails.
run_list() {
    local name status
    for name; do
        status=0
        timeout --kill-after=5 120 "$BUILD/tests/$name" >"$TMP/out" 2>"$TMP/err" </dev/null || status=$?
        if [ $status = 0 ] && grep -q '^1\.\.[1-9]' "$TMP/out"; then
            pass "$name ($(grep -c '^ok' "$TMP/out") checks)"
        else
            fail "$name"
            diag "status $status"
            grep -A3 '^not ok' "$TMP/out" >&2 || true
            tail -n 5 "$TMP/err" >&2
        fi
    done
}

before=$(rdma_resources)
# The others are about sockets and memory files.
run_list transport-{records,bulk,waiting,wakeups,shutdown,backpressure,idle,fork,regions,peer_death}
receiver_not_ready() { cat /sys/class/infiniband/rxe?/ports/1/hw_counters/*rnr*; }
not_ready=$(receiver_not_ready)
run_list rdma-handshake rdma-intruders rdma-transfers rdma-registered_memory rdma-credit rdma-gather
is "$(receiver_not_ready)" "$not_ready" "no message has found its receiver without a receive"
run_list transport-leaks
is "$(rdma_resources)" "$before" "no queue pair, region or completion queue is left behind"
done_testing
