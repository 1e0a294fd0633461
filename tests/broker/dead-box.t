#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box whose daemon has died gets no lease, long before its silence makes it count as away.
. "$(dirname "$0")/broker.sh"

start_broker --away-after 10min
start_pool_box box1
id=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}' | at lease.id)
stop "$BOX_PID" KILL
ok "the broker sees that the connection is closed" await "the box" box_is box1 silent
is "$(api GET /v1/gpus/box1:1 | at gpu.state)" silent "its GPUs are not free"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{}]}}')" busy "and not granted"
is "$(api GET "/v1/leases/$id" | at lease.state)" granted "its leases are not touched: sessions may live"
waiting=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "queue": true}' | at lease.id)
ok "who waits" lease_is "$waiting" queued
start_pool_box box1
ok "gets the GPU when the box is back" await "the grant" lease_is "$waiting" granted

before=$(api GET "/v1/events?after=-1" | at last)
waiting=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "queue": true, "lifetime": 1000}' | at lease.id)
for _ in 1 2 3; do api POST "/v1/leases/$waiting/renew" '{"lifetime": 2000}' >/dev/null; done
is $(($(api GET "/v1/events?after=-1" | at last) - before)) 1 "the renewals of one that waits are no events"
renewed=$(api GET "/v1/leases/$waiting" | at lease.expires)
[ "$renewed" -gt $(($(date +%s) + 1000)) ] || fail "but they count"
stop "$BROKER_PID" KILL
start_broker --away-after 10min
is "$(api GET "/v1/leases/$waiting" | at lease.state)" queued "it waits on after a crash of the broker"
ok "the invariants hold" invariants
done_testing
