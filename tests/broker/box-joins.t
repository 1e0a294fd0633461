#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box of the pool: it registers, honours tickets, ends the sessions of a lease that is over and
# confirms that, and goes on while the broker is away.
. "$(dirname "$0")/broker.sh"

start_broker
start_pool_box box1
gpus=$(api GET /v1/gpus)
is "$(at gpus.1.index <<<"$gpus")" 1 "both GPUs of the box are in the pool"
like "$(at gpus.0.uuid <<<"$gpus")" '^GPU-a0a0' "by UUID"

lease=$(api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}, "ticket": true}')
id=$(at lease.id <<<"$lease")
RGPU_TICKET=$(at ticket <<<"$lease")
export RGPU_TICKET
ok "the ticket opens a session" "$CLIENT" "$BOX" echo hi
start worker "$CLIENT" "$BOX" closed
await_line worker 'open session'
reported() { [ "$(api GET /v1/sessions | at sessions.0.lease)" = "$id" ]; }
ok "the broker hears of it with the next report" await "the session" reported
is "$(error_code POST /v1/leases '{"request": {"gpus": [{}]}}')" busy "nothing is left to grant"

waiting=$(api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}, "queue": true, "ticket": true}' | at lease.id)
ok "somebody waits" lease_is "$waiting" queued
ok "the lease is released with its session open" api DELETE "/v1/leases/$id"
ok "who waited gets the GPUs" await "the grant" lease_is "$waiting" granted
ok "the session has been ended before" await_line worker "closed by the box"
like "$("$CLIENT" "$BOX" || true)" 'error result=800 .*the lease has ended' "its ticket opens nothing any more"
is "$(api GET "/v1/leases/$id" | at lease.state)" ended "and it is over"

RGPU_TICKET=$(api POST /v1/tickets "{\"lease\": \"$waiting\"}" | at ticket)
hold next
await_line next 'open session'
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
await_log 'the broker is away'
ok "while the broker is away a ticket opens sessions" "$CLIENT" "$BOX" echo hi
ok "and running ones go on" alive "$(hold_pid next)"
start_broker
ok "the broker is back and so is the box" await "the box" box_is box1 up
ok "the lease is as it was" lease_is "$waiting" granted
ok "and its session runs" alive "$(hold_pid next)"

stop "$BOX_PID" KILL
start_pool_box box1
export RGPU_TICKET
ok "after a restart of the box its lease opens sessions" "$CLIENT" "$BOX" echo hi
RGPU_TICKET=$(at ticket <<<"$lease")
like "$("$CLIENT" "$BOX" || true)" 'the lease has ended' "and the one that is over is still refused"
api DELETE "/v1/leases/$waiting" >/dev/null
ok "the rest ends" await "the end" lease_is "$waiting" ended

if [ "$(id -u)" = 0 ]; then
    stop "$BOX_PID"
    start_pool_box box1 --listen "127.0.0.1:0,unix:$TMP/box.sock"
    share "$CLIENT"
    chmod 666 "$TMP/box.sock"
    RGPU_TICKET=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "owner": 12345, "ticket": true, "key": "theirs"}' | at ticket)
    as() { as_user "$1" "$SHARED/${CLIENT##*/}" "unix:$TMP/box.sock" echo hi; }
    ok "over a unix socket a ticket opens a session for its owner" as 12345
    like "$(as 12346 || true)" "the ticket is another user's" "and for no other user"
    api POST /v1/leases/release '{"key": "theirs"}' >/dev/null
    over() { [ -z "$("$BUILD/bin/rgpuctl" leases --broker "unix:$BROKER_SOCKET" --json)" ]; }
    ok "which ends" await "the end" over
else
    skip "only root can be several users"
fi
ok "the invariants hold" invariants --idle

# The broker of these boxes is on another host (RFC 5737), which nobody answers at.
far() { start_stub_box --auth ticket --key-file "$TMP/box1.boxkey" --broker 192.0.2.1:7310 --state-dir "$TMP/far$boxes" "$@"; }
far --listen 0.0.0.0:0
logs "$BOX_LOG" 'addresses=0.0.0.0:[0-9]+, which no other host can use: set announce' "a box says that the pool gets an address of no use"
far --listen 0.0.0.0:0 --announce gpu01:7300
unlike "$(cat "$BOX_LOG")" 'set announce' "and not if it announces its name"
done_testing
