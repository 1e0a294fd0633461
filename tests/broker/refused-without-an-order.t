#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease that stands on a box's list though the broker has not ended it is taken again once box and
# broker have compared what they know; until then no date on the list is for longer than a ticket.
. "$(dirname "$0")/broker.sh"

start_broker
start_pool_box box1
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
id=$(at lease.id <<<"$lease")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
opens() { "$CLIENT" "$BOX" echo hi; }
ok "a ticket opens a session" opens

# As an order of somebody who is not the broker would have left it.
stop "$BOX_PID" KILL
echo "$id 3976214400" >>"$TMP/box-box1/revoked"
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
launch_stub_box --name box1 --auth ticket --key-file "$TMP/box1.boxkey" --broker "$BROKER" \
    --state-dir "$TMP/box-box1"
await_stub_box
like "$(opens 2>&1 || true)" 'the lease has ended' "while the broker is away the list counts"
start_broker
ok "when it is back" await "the box" box_is box1 up
ok "the box says that it takes the lease again" await_log "lease=$id is taken again"
ok "and does" opens
ok "for the lease is as it was" lease_is "$id" granted
unlike "$(cat "$TMP/box-box1/revoked")" "$id" "it is off the list"

api DELETE "/v1/leases/$id" >/dev/null
ok "released by its owner it ends" await "the end" lease_is "$id" ended
like "$(opens 2>&1 || true)" 'the lease has ended' "and stays refused"
read -r listed until <"$TMP/box-box1/revoked"
is "$listed" "$id" "as the list says"
[ "$until" -lt $(($(date +%s) + 9000 * 3600)) ] && pass "until a date that a ticket could have" || fail "until $until"
done_testing
