#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The broker's database is replaced by an older copy: the broker notices that it went back in time,
# however much it does before the first box is back; leases that it forgot open nothing any more, those
# that had ended end, and those that it knows go on.
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

refused='the broker does not know the lease any more|the lease has ended'
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
idle_ticket=$(take | at ticket)
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
ok "a session of a lease that it forgot is ended" await_line worker 'closed by the box'
ok "one of a lease that it knows goes on" alive "$(hold_pid keeper)"
ok "which is as before" lease_is "$kept_id" granted
like "$(try "$kept_ticket")" echoed "its ticket opens more"
like "$(try "$lost_ticket")" "$refused" "the ticket of a forgotten lease opens nothing"
like "$(try "$idle_ticket")" "$refused" "nor that of one that had no session"
ok "the lease that had ended is over again" await "its end" lease_is "$over_id" ended
like "$(try "$over_ticket")" 'the lease has ended' "its ticket stays refused"
like "$(try "$later_ticket")" 'the lease has ended' "and one that this database never issued"
ok "all other GPUs are free" await "the GPUs" gpus_are "free free free used"

next=$(api POST /v1/leases '{"request": {"gpus": [{"count": 3}]}, "ticket": true}')
like "$(try "$(at ticket <<<"$next")")" echoed "new leases open sessions"
stop "$BOX_PID" KILL
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
launch_stub_box --name box1 --auth ticket --key-file "$TMP/box1.boxkey" --broker "$BROKER" \
    --state-dir "$TMP/box-box1" --devices sim:4
await_stub_box
like "$(try "$idle_ticket")" "$refused" "started anew without the broker, the box still refuses"
like "$(try "$kept_ticket")" echoed "what is to be refused, and nothing else"
start_broker
await "the box" box_is box1 up
is "$(epochs)" 1 "a restart of the broker is no loss"

# Once more, with a new database: what the box has seen tells.
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
rm -f "$BROKER_DIR"/pool.sqlite*
start_broker
ok "with an empty database too" await "the box" box_is box1 up
is "$(epochs)" 1 "the broker notices"
like "$(try "$kept_ticket")" "$refused" "and no lease of before opens anything"
ok "all GPUs are free" await "the GPUs" gpus_are "free free free free"
ok "the invariants hold" invariants --idle
done_testing
