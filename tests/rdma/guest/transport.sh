#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: the transport tests against rdma, and what only verbs have.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
export RGPU_TEST_TRANSPORT=rdma

before=$(rdma_resources)
# The others are about sockets and memory files.
run_checks transport-{records,bulk,waiting,wakeups,shutdown,backpressure,idle,fork,regions,peer_death}
receiver_not_ready() { cat /sys/class/infiniband/rxe?/ports/1/hw_counters/*rnr*; }
not_ready=$(receiver_not_ready)
run_checks rdma-handshake rdma-intruders rdma-transfers rdma-registered_memory rdma-credit rdma-gather
is "$(receiver_not_ready)" "$not_ready" "no message has found its receiver without a receive"
run_checks transport-leaks
is "$(rdma_resources)" "$before" "no queue pair, region or completion queue is left behind"
done_testing
