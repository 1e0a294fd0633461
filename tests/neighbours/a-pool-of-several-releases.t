#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# (seconds: 900) Broker, boxes and rgpuctl of neighbouring releases are one pool: members of the other's JSON that one does not
# know are left alone, and those of the release before get all that they need.
. "$(dirname "$0")/../broker/broker.sh"
. "$TOP/tests/neighbours/neighbours.sh"
requires git python3
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "other releases are not built with sanitizers"
THIS=$TOP
build_previous

# in_pool CTL WORDS: a program under a lease on the only box of the pool, and what rgpuctl shows of it.
in_pool() {
    local ctl=$1 words=$2
    # A broker takes nothing that was signed before its own start, to the second.
    await "the broker answers" "$ctl" boxes
    ok "$words: a program runs under a lease" "$ctl" run -- "$TOP/build/tests/one-call"
    like "$("$ctl" boxes)" '^box1 .*up' "$words: the box is shown"
    is "$("$ctl" gpus | grep -c '^box1')" 2 "$words: and its GPUs"
    ok "$words: it is drained" "$ctl" drain box1
    fails "$words: then it gets no lease" "$ctl" run --no-wait -- true
    ok "$words: and put back" "$ctl" undrain box1
    start held env "RGPU_BROKER=$RGPU_BROKER" "$ctl" run -- sh -c 'echo started; exec tail -f /dev/null'
    await_line held started
    # The one before may still be ending.
    id=$("$ctl" leases --json | grep '"state":"granted"' | at id)
    ok "$words: a lease is revoked" "$ctl" revoke "$id"
    stop "$PID"
    ok "$words: and is over" await "the end of the lease" lease_is "$id" ended
}
fresh_pool() {
    stop "${BOX_PID:-0}"; stop "${BROKER_PID:-0}"
    unset BROKER
    BROKER_DIR=$TMP/state-$1
}
export RGPU_BROKER_KEY=$TMP/admin.key LD_LIBRARY_PATH=

start_broker
api GET /v1/boxes/box1/key | at keys >"$TMP/box1.boxkey"
chmod 600 "$TMP/box1.boxkey"
start peer python3 -u "$TOP/tests/neighbours/peer_to_come.py" "$BROKER" "$TMP/admin.key" "$TMP/box1.boxkey"
await_line peer '^port '
direct=$BROKER BROKER=127.0.0.1:${LINE#port }
start_cuda_box box1
export RGPU_BROKER=$BROKER
in_pool "$BUILD/bin/rgpuctl" "peers to come"
ok "requests had more members than are known" await_line peer "^a request grew"
ok "answers, too" await_line peer "^an answer grew"
ticket=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}' | at ticket)
grown=$(python3 "$TOP/tests/neighbours/peer_to_come.py" ticket "$TMP/box1.boxkey" <<<"$ticket")
ok "a ticket with members that nobody knows is another one" [ "$grown" != "$ticket" ]
ok "and opens a session" env RGPU_TICKET="$grown" LD_LIBRARY_PATH="$BUILD/lib" "$BUILD/tests/one-call"
show() { RGPU_BROKER=$1 "$BUILD/bin/rgpuctl" "${@:2}" | sed "s/^$1/ADDRESS/"; }
for what in boxes gpus health; do
    is "$(show "$BROKER" $what)" "$(show "$direct" $what)" "rgpuctl $what shows the same as without"
done

fresh_pool old-box
start_broker
BUILD=$PREVIOUS/build start_cuda_box box1
RGPU_BROKER=$BROKER
in_pool "$BUILD/bin/rgpuctl" "a box of $RELEASE"
in_pool "$PREVIOUS/build/bin/rgpuctl" "box and rgpuctl of $RELEASE"

fresh_pool old-broker
BUILD=$PREVIOUS/build start_broker
start_cuda_box box1
RGPU_BROKER=$BROKER
in_pool "$BUILD/bin/rgpuctl" "a broker of $RELEASE"
in_pool "$PREVIOUS/build/bin/rgpuctl" "broker and rgpuctl of $RELEASE"
done_testing
