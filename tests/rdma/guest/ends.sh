#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: how sessions end when the network or one side is gone, and that nothing is left behind.
. "$TOP/tests/rdma/guest/common.sh"
saxpy=$BUILD/tests/programs/saxpy
endure=$BUILD/tests/programs/endure
start_rdma_box

# start_enduring WHAT [VARIABLE...]: copies until it fails (back and forth, --to or --from the GPU); returns
# after a round.
start_enduring() {
    local what=$1
    shift
    : >"$TMP/rounds"
    over_rdma "$@" "$endure" "$what" >"$TMP/rounds" 2>"$TMP/endure.err" &
    enduring=$!
    await "a first round" grep -q '^round' "$TMP/rounds" || tail -n 5 "$TMP/endure.err" >&2
}

sessions_ended() { grep -c 'session ends' "$BOX_LOG" || true; }
newest_worker() { sed -n 's/.* session=[0-9]* begins pid=\([0-9]*\) .*/\1/p' "$BOX_LOG" | tail -n 1; }
more_ended() { [ "$(sessions_ended)" -gt "$ended" ]; }

ok "a first session" over_rdma "$saxpy"
await "an idle box" is_idle 1
settled() { [ "$(rdma_resources)" = "$before" ]; }
descriptors() { ls "/proc/$BOX_PID/fd" | wc -l; }
as_many_open() { [ "$(descriptors)" = "$open_before" ]; }
before=$(rdma_resources) open_before=$(descriptors)
for way in to from; do
    start_enduring --$way
    ended=$(sessions_ended)
    pkill -KILL -x endure
    ok "a client that is killed while it copies $way the GPU is noticed by its worker" await "the end" more_ended
    wait $enduring 2>/dev/null || true
    start_enduring --$way
    kill -KILL "$(newest_worker)"
    status=0
    wait $enduring || status=$?
    is $status 3 "a worker that is killed while its client copies $way the GPU is noticed by the client"
    like "$(cat "$TMP/rounds")" 'error CUDA_ERROR_DEVICE_UNAVAILABLE' "which gets an error"
    like "$(cat "$TMP/rounds")" '^sticky' "for every call from then on"
done

await "an idle box" is_idle 1
ok "those that were killed leave as many queue pairs and regions as before" await "resources to settle" settled
ok "and as many descriptors of the box" await "descriptors to be closed" as_many_open

start_enduring 1000 RGPU_RDMA_DEAD_MS=5000 RGPU_RECONNECT=5
for end in 0 1; do tc qdisc add dev rdma$end root netem loss 100%; done
status=0
wait $enduring || status=$?
is $status 3 "a network that is gone for good ends the session"
like "$(cat "$TMP/rounds")" 'error CUDA_ERROR_DEVICE_UNAVAILABLE' "with an error"
tail -n 3 "$TMP/endure.err" >&2
for end in 0 1; do tc qdisc del dev rdma$end root; done
ok "and the next one works when it is back" over_rdma "$saxpy"
done_testing
