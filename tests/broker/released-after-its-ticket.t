#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease that is released after its ticket ran out ends: at once, with its session, and without box
# and broker telling each other so again and again.
. "$(dirname "$0")/broker.sh"

start_broker --lifetime 8s
start_pool_box box1 --clock-skew 1s
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
id=$(at lease.id <<<"$lease")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
start worker "$CLIENT" "$BOX" closed
await_line worker 'open session'
opens_nothing() { [[ $("$CLIENT" "$BOX" 2>&1) == *"the ticket is not accepted: expired"* ]]; }
ok "the ticket runs out" await "its end" opens_nothing
ok "and its session goes on" alive "$PID"

requests() { api GET /metrics | sed -n 's/^rgpu_requests_total //p'; }
ok "then the lease is released" api DELETE "/v1/leases/$id"
ok "its session is ended" await_line worker 'closed by the box'
ok "and it is over" await "the end" lease_is "$id" ended
before=$(requests) since=$SECONDS
ok "its GPU is free" test "$(api GET /v1/gpus | python3 -c 'import json,sys; print({g["state"] for g in json.load(sys.stdin)["gpus"]})')" = "{'free'}"

next=$(api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}, "ticket": true}')
RGPU_TICKET=$(at ticket <<<"$next") ok "for the next" "$CLIENT" "$BOX" echo hi
api DELETE "/v1/leases/$(at lease.id <<<"$next")" >/dev/null
ok "whose lease ends" await "the end" lease_is "$(at lease.id <<<"$next")" ended
[ $(grep -c "lease=$id is to end" "$BOX_LOG") -le 10 ] && pass "the order was given a few times at most" ||
    fail "the order was given $(grep -c "lease=$id is to end" "$BOX_LOG") times"
counted=$(($(requests) - before))
# Each says something once a second.
[ $counted -le $((40 + 4 * (SECONDS - since))) ] && pass "and box and broker are quiet" || fail "box and broker exchanged $counted requests"
ok "the invariants hold" invariants --idle
done_testing
