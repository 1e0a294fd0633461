#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of the box's daemon at every point of a lease's end: the lease ends, and once it has, its
# ticket opens nothing, however the daemon died.
. "$(dirname "$0")/broker.sh"

start_broker --away-after 3s
take() { api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}, "ticket": true}'; }
free_again() { [ "$(api GET /v1/gpus | grep -o '"state":"free"' | wc -l)" = 2 ]; }
for fault in agent.before_save:kill agent.after_save:kill revocations.written:kill \
    agent.answered:kill@2 agent.before_save:fail=ENOSPC revocations.written:fail=EIO; do
    start_pool_box box1
    lease=$(take)
    id=$(at lease.id <<<"$lease")
    RGPU_TICKET=$(at ticket <<<"$lease")
    export RGPU_TICKET
    "$CLIENT" "$BOX" echo hi >/dev/null || fail "no session before $fault"
    stop "$BOX_PID" KILL
    start_pool_box box1
    stop "$BOX_PID" KILL
    launch_stub_box RGPU_FAULT="$fault" --name box1 --auth ticket --key-file "$TMP/box1.boxkey" \
        --broker "$BROKER" --state-dir "$TMP/box-box1"
    await_stub_box
    await "the box" box_is box1 up
    api DELETE "/v1/leases/$id" >/dev/null
    case $fault in
    *:kill*) ok "$fault: the daemon dies" await "its death" ended "$BOX_PID" ;;
    *) ok "$fault: what cannot be written down is not confirmed" lease_is "$id" ending ;;
    esac
    stop "$BOX_PID" KILL
    start_pool_box box1
    ok "$fault: the next one ends the lease" await "the end" lease_is "$id" ended
    like "$("$CLIENT" "$BOX" || true)" 'the lease has ended' "$fault: its ticket opens nothing"
    ok "$fault: the GPUs are free" await "the GPUs" free_again
    stop "$BOX_PID" KILL
done
ok "the invariants hold" invariants --idle
done_testing
