#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The ticket of a lease that is over stays refused also after its expiry, for as long as the box
# would still accept it for the sake of clocks that differ.
. "$(dirname "$0")/broker.sh"

start_broker --lifetime 2s
start_pool_box box1 --clock-skew 1h
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
id=$(at lease.id <<<"$lease")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
end=$(cut -d' ' -f3 <<<"$RGPU_TICKET" | python3 -c '
import base64, json, sys
part = sys.stdin.read().split(".")[1]
print(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["exp"])')
ok "a ticket opens a session" "$CLIENT" "$BOX" echo hi
ok "its lease is released" api DELETE "/v1/leases/$id"
ok "and over" await "the end" lease_is "$id" ended
is_past() { [ "$(date +%s)" -gt $((end + 1)) ]; }
await "the ticket's expiry" is_past

# Every change of the list is an occasion to forget what is old.
other=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
api DELETE "/v1/leases/$(at lease.id <<<"$other")" >/dev/null
await "the other's end" lease_is "$(at lease.id <<<"$other")" ended
like "$("$CLIENT" "$BOX" || true)" 'the lease has ended' "after its expiry the ticket is still refused"
stop "$BOX_PID" KILL
rm "$TMP/box-box1/revoked"
start_pool_box box1 --clock-skew 1h
like "$("$CLIENT" "$BOX" || true)" 'the lease has ended' "also by a box that learns of it from the broker"
done_testing
