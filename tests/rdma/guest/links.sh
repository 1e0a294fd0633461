#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: a link that goes down while a session copies, for a moment or for good (the argument). What
# connects soft-RoCE devices may not survive a message that it could not send, so each has a machine of its
# own, and what comes afterwards may be over TCP.
. "$TOP/tests/rdma/guest/common.sh"
endure=$BUILD/tests/programs/endure
start_rdma_box
# A read that soft-RoCE of Linux 6.1 has under way then may end as complete without its data. So the session must end with an
# error of its queue pairs: losses that it goes on after are those of lost.sh.
over_rdma RGPU_RDMA_DEAD_MS=5000 RGPU_RECONNECT=0 "$endure" $([ "$1" = back ] && echo 4) >"$TMP/rounds" 2>"$TMP/endure.err" &
enduring=$!
await "a first round" grep -q '^round' "$TMP/rounds" || tail -n 5 "$TMP/endure.err" >&2

case $1 in
back) # soft-RoCE fails a send at once, or forgets to repeat it; hardware repeats it for the dead time
    printf 'link set rdma0 %s\n' down up | ip -batch - ;;
gone) ip link set rdma0 down ;;
esac
status=0
wait $enduring || status=$?
outcome="$status $(tail -n 2 "$TMP/rounds" | xargs)"
case $1 in
back) like "$outcome" '^(0 .*done|3 error CUDA_ERROR_DEVICE_UNAVAILABLE sticky)$' \
          "a link that goes down and up: the session goes on, or ends with an error" ;;
gone) like "$outcome" '^3 error CUDA_ERROR_DEVICE_UNAVAILABLE sticky$' \
          "a link that stays down ends the session with an error"
      ip link set rdma0 up ;;
esac
ok "it ends at the box" await "the end" grep -q 'session ends' "$BOX_LOG"
ok "a new session works" on_box RGPU_RDMA_ADDRESS="$RDMA_VM_ADDRESS_1" "$BUILD/tests/programs/saxpy"
done_testing
