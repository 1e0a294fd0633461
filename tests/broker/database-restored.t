#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The broker's database is replaced by an older copy: the broker notices that it went back in time,
# however much it does before the first box is back; leases that it forgot are adopted, those that had
# ended end, and those that it knows go on.
. "$(dirname "$0")/broker.sh"

copy_database() {
    python3 -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))' "$BROKER_DIR/pool.sqlite" "$1"
}
restore() {
    rm -f "$BROKER_DIR"/pool.sqlite*
    cp "$TMP/copy.sqlite" "$BROKER_DIR/pool.sqlite"
}
take() { api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}'; }
try() { RGPU_TICKET=$1 "$CLIENT" "$BOX" echo hi 2>&1 || true; }
# The newest page: there are more events than one page has.
epochs() { api GET '/v1/events?after=-100' | grep -o '"history.lost"' | wc -l; }
gpus_are() { [ "$(api GET /v1/gpus | python3 -c 'import json, sys; print(*sorted(g["state"] for g in json.load(sys.stdin)["gpus"]))')" = "$1" ]; }

refused='the lease has ended'
start_broker
BOX_PREFIX="env RGPU_SIM_DEVICES=4"
start_pool_box box1 --devices sim:4
kept=$(take) kept_id=$(at lease.id <<<"$kept") kept_ticket=$(at ticket <<<"$kept")
over=$(take) over_id=$(at lease.id <<<"$over") over_ticket=$(at ticket <<<"$over")
copy_database "$TMP/copy.sqlite"

# What follows is lost.
later_ticket=$(api POST /v1/tickets "{\"lease\": \"$over_id\", \"lifetime\": 86400}" | at ticket)
api DELETE "/v1/leases/$over_id" >/dev/null
await "the end" lease_is "$over_id" ended
lost=$(take) lost_id=$(at lease.id <<<"$lost") lost_ticket=$(at ticket <<<"$lost")
idle=$(take) idle_id=$(at lease.id <<<"$idle") idle_ticket=$(at ticket <<<"$idle")
RGPU_TICKET=$lost_ticket
export RGPU_TICKET
start worker "$CLIENT" "$BOX" closed
await_line worker 'open session'
RGPU_TICKET=$kept_ticket
hold keeper
await_line keeper 'open session'
heard() { [ "$(api GET /v1/sessions | grep -o "$lost_id" | head -n 1)" = "$lost_id" ]; }
await "the report" heard

stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
restore
kill -STOP "$BOX_PID"
start_broker
(cd "$TOP/tests/broker" && python3 -c 'import sys
from pool import Api
api = Api(sys.argv[1])
for i in range(200):
    api.call("POST", "/v1/boxes/box1/undrain", {})' "$BROKER_SOCKET")
kill -CONT "$BOX_PID"
ok "the box is back" await "the box" box_is box1 up
is "$(epochs)" 1 "the broker has noticed that it went back in time"
ok "a lease that it forgot is adopted" await "the lease" lease_is "$lost_id" granted
ok "its session goes on" alive "${line_pid[worker]}"
ok "one of a lease that it knows goes on" alive "$(hold_pid keeper)"
ok "which is as before" lease_is "$kept_id" granted
like "$(try "$kept_ticket")" echoed "its ticket opens more"
like "$(try "$lost_ticket")" echoed "so does the ticket of the forgotten lease"
like "$(try "$idle_ticket")" echoed "and that of one that had no session"
ok "which is adopted, too" lease_is "$idle_id" granted
ok "the lease that had ended is over again" await "its end" lease_is "$over_id" ended
like "$(try "$over_ticket")" 'the lease has ended' "its ticket stays refused"
like "$(try "$later_ticket")" 'the lease has ended' "and one that this database never issued"
ok "the other GPU is free" await "the GPUs" gpus_are "free used used used"

next=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
like "$(try "$(at ticket <<<"$next")")" echoed "new leases open sessions"
api DELETE "/v1/leases/$lost_id" >/dev/null
await "the end" lease_is "$lost_id" ended
stop "$BOX_PID" KILL
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
launch_stub_box --name box1 --auth ticket --key-file "$TMP/box1.boxkey" --broker "$BROKER" \
    --state-dir "$TMP/box-box1" --devices sim:4
await_stub_box
like "$(try "$lost_ticket")" "$refused" "started anew without the broker, the box still refuses what has ended"
like "$(try "$kept_ticket")" echoed "and nothing else: not what the copy has"
like "$(try "$idle_ticket")" echoed "nor what was adopted"
start_broker
await "the box" box_is box1 up
is "$(epochs)" 1 "a restart of the broker is no loss"

# Once more, with a new database: what the box has seen tells, also after its restart, when it has no sessions.
stop "$BOX_PID" KILL
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
rm -f "$BROKER_DIR"/pool.sqlite*
start_broker
start_pool_box box1 --devices sim:4
is "$(epochs)" 1 "with an empty database, too, the broker notices"
is "$(error_code GET "/v1/leases/$idle_id")" not-found "a lease that no box serves is not known"
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
like "$(try "$idle_ticket")" 'which must say if it knows the lease, is away' "without the broker its ticket opens nothing"
start_broker
await "the box" box_is box1 up
like "$(try "$idle_ticket")" echoed "with the broker it does"
ok "since the lease is adopted" lease_is "$idle_id" granted
like "$(try "$lost_ticket")" "$refused" "the lease that had ended stays so"
api DELETE "/v1/leases/$idle_id" >/dev/null
ok "all GPUs are free" await "the GPUs" gpus_are "free free free free"
ok "the invariants hold" invariants --idle
done_testing
