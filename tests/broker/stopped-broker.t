#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A broker that stands still for longer than a box may be silent holds that against no box.
. "$(dirname "$0")/broker.sh"

start_broker --away-after 10s
start_pool_box box1
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}' | at lease.id)
times_missed() { grep -c 'the broker is away' "$BOX_LOG" || true; }
before=$(times_missed)
kill -STOP "$BROKER_PID"
stopped=$SECONDS
missed() { [ "$(times_missed)" -gt "$before" ] && [ $((SECONDS - stopped)) -gt 12 ]; }
ok "a stopped broker is away for the box" await "the box's log" missed
kill -CONT "$BROKER_PID"
told() { grep -q 'the broker itself was away' "$BROKER_LOG"; }
ok "when it goes on it knows" await "the broker's log" told
ok "the box is there" await "the box" box_is box1 up
ok "the lease is as it was" lease_is "$lease" granted
is "$(api GET '/v1/events?after=0' | grep -c 'box.away' || true)" 0 "and no box was declared away"
done_testing
