#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box is cut off from the broker: its sessions run on, its lease is lost but not granted to anybody
# else; when the line is back, so is the lease, and one that was released meanwhile ends then.
. "$(dirname "$0")/broker.sh"
requires unshare nsenter ip
unshare -n true 2>/dev/null || skip_all "no network namespaces for us here"

start broker-side unshare -n sh -c 'echo here; exec tail -f /dev/null'
await_line broker-side here
broker_side=$PID
start box-side unshare -n sh -c 'echo here; exec tail -f /dev/null'
await_line box-side here
box_side=$PID
at_broker() { nsenter -t "$broker_side" -n "$@"; }
at_box() { nsenter -t "$box_side" -n "$@"; }
at_broker ip link add toward type veth peer name back netns "$box_side" 2>/dev/null || skip_all "no veth devices here"
for side in "at_broker toward 10.77.0.1" "at_box back 10.77.0.2"; do
    read -r where device address <<<"$side"
    "$where" ip link set lo up
    "$where" ip address add "$address/24" dev "$device"
    "$where" ip link set "$device" up
done

BROKER_PREFIX="nsenter -t $broker_side -n"
BROKER=10.77.0.1:7310
start_broker --away-after 3s
BOX_PREFIX="nsenter -t $box_side -n"
start_pool_box box1
CLIENT="$TMP/client"
printf '#!/bin/sh\nexec nsenter -t %s -n "%s" "$@"\n' "$box_side" "$BUILD/tests/probe-client" >"$CLIENT"
chmod +x "$CLIENT"

lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
id=$(at lease.id <<<"$lease")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
start watcher "$CLIENT" "$BOX" closed
await "the session" sh -c "nsenter -t $box_side -n '$BUILD/bin/rgpuctl' sessions --socket '$ADMIN' --json | grep -q '$id'"

at_box ip link set back down
ok "the broker misses the box" await "the loss" box_is box1 away
ok "its lease is lost" lease_is "$id" lost
is "$(error_code POST /v1/leases '{"request": {"gpus": [{}]}}')" busy "nothing of it is granted"
ok "the session runs on" alive "$PID"
ok "and the ticket opens another" "$CLIENT" "$BOX" echo hi
at_box ip link set back up
ok "the line is back and so is the lease" await "the lease" lease_is "$id" granted
ok "with its session" alive "$PID"

at_box ip link set back down
await "the loss" lease_is "$id" lost
ok "released meanwhile" api DELETE "/v1/leases/$id"
ok "it is not over" lease_is "$id" ending
ok "for its session runs" alive "$PID"
next=$(api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}, "queue": true}' | at lease.id)
ok "who wants the GPUs waits" lease_is "$next" queued
at_box ip link set back up
ok "when the line is back the session is ended" await_line watcher 'closed by the box'
ok "the lease is over" await "the end" lease_is "$id" ended
ok "and the GPUs are granted" await "the grant" lease_is "$next" granted
ok "the invariants hold" invariants
done_testing
