#!/bin/bash
# In the guest: how sessions end when the network or one side is gone, and that nothing is left behind.
. "$TOP/tests/rdma/guest/common.sh"
saxpy=$BUILD/tests/programs/saxpy
endure=$BUILD/tests/programs/endure
start_rdma_box

# start_enduring [VARIABLE...]: copies back and forth until it fails; returns after a round.
start_enduring() {
    : >"$TMP/rounds"
    over_rdma "$@" "$endure" 1000 >"$TMP/rounds" 2>"$TMP/endure.err" &
    enduring=$!
    await "a first round" grep -q '^round' "$TMP/rounds" || tail -n 5 "$TMP/endure.err" >&2
}

sessions_ended() { grep -c 'session ends' "$BOX_LOG" || true; }
more_ended() { [ "$(sessions_ended)" -gt "$ended" ]; }

ok "a first session" over_rdma "$saxpy"
start_enduring
ended=$(sessions_ended)
pkill -KILL -x endure
ok "a client that is killed in mid-transfer is noticed by its worker" await "the end" more_ended
wait $enduring 2>/dev/null || true

# The worker of the session is the one that spends time.
start_enduring
kill -KILL "$(ps -o pid= --sort=-time -C rgpu-worker | head -n 1)"
status=0
wait $enduring || status=$?
is $status 3 "a worker that is killed in mid-transfer is noticed by its client"
like "$(cat "$TMP/rounds")" 'error CUDA_ERROR_DEVICE_UNAVAILABLE' "which gets an error"
like "$(cat "$TMP/rounds")" '^sticky' "for every call from then on"

one_warm() { [ "$(pgrep -c -x rgpu-worker)" = 1 ]; }
await "one warm worker" one_warm
settled() { [ "$(rdma_resources)" = "$before" ]; }
before=$(rdma_resources)
for _ in {1..15}; do over_rdma "$saxpy" >/dev/null 2>&1 || fail "a session of many"; done
ok "after fifteen sessions there are as many queue pairs and regions as before" \
    await "resources to settle" settled

start_enduring RGPU_RDMA_DEAD_MS=5000
for end in 0 1; do tc qdisc add dev rdma$end root netem loss 100%; done
began=$SECONDS status=0
wait $enduring || status=$?
is $status 3 "a network that is gone for good ends the session"
ok "after the time that is set" [ $((SECONDS - began)) -le 20 ]
like "$(cat "$TMP/rounds")" 'error CUDA_ERROR_DEVICE_UNAVAILABLE' "with an error"
tail -n 3 "$TMP/endure.err" >&2
for end in 0 1; do tc qdisc del dev rdma$end root; done
ok "and the next one works when it is back" over_rdma "$saxpy"
done_testing
