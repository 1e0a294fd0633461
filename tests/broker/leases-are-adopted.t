#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The database is replaced by an older copy, or by none, in the middle of jobs: all that runs goes on, the broker has the leases
# again as they were, a ticket that nobody has used yet opens its GPU, and no GPU is granted twice.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

ctl=$BUILD/bin/rgpuctl
start_broker
export RGPU_BROKER=unix:$BROKER_SOCKET
for box in box1 box2 box3; do start_cuda_box $box --devices sim:2 --gpu-mode shared; done
start_cuda_box box4 --devices sim:4
mine=(--constraint box=box4)

# What the pool says of all leases, without what a restart may change.
leases_now() {
    api GET /v1/leases | python3 -c 'import json, sys
for lease in json.load(sys.stdin)["leases"]:
    print(lease["id"], lease["state"], lease["owner"], lease["job"], lease["account"], lease.get("key"), lease["created"],
          lease["granted"], json.dumps(lease["request"], sort_keys=True),
          *sorted((gpu["gpu"], gpu["box"], gpu["mode"], gpu["memory"], gpu["ordinal"]) for gpu in lease["gpus"]))' | sort
}
# Only those with sessions: a lease without one is adopted when its ticket is used.
with_sessions() { leases_now | grep -v "$1"; }
all_answer() { # ROUND: each program looks at its data
    local name
    for name in "${held[@]}"; do look "$name"; done
    for name in "${held[@]}"; do await_line "$name" "^right $1\$" >/dev/null || { diag "$name does not go on"; return 1; }; done
}
use() { LD_LIBRARY_PATH=$BUILD/lib RGPU_TICKET=$1 "$BUILD/tests/programs/saxpy"; }
adopted() { api GET '/v1/events?after=-500' | grep -o '"kind": *"lease.adopted"' | wc -l; }
crash() {
    stop "$BROKER_PID" KILL
    wait "$BROKER_PID" 2>/dev/null || true
}
come_back() {
    local box
    start_broker
    for box in box1 box2 box3 box4; do await "box $box" box_is $box up || bail "$box does not come back"; done
}

# Before the copy: one lease that goes on, one that ends later, one that waits.
held=()
hold_lease early 1 "${mine[@]}"
held+=(early)
over=$(api POST /v1/leases '{"request": {"gpus": [{"count": 2}], "box": "box4"}, "ticket": true}')
over_id=$(at lease.id <<<"$over")
ok "a program runs under a lease that ends later" use "$(at ticket <<<"$over")"
start_held waiting 1 "$ctl" run -n 2 "${mine[@]}" --
held+=(waiting)
is_waiting() { [ "$(api GET '/v1/leases?state=queued' | grep -o '"state": *"queued"' | wc -l)" = 1 ]; }
ok "another lease waits" await "the queue" is_waiting
ok "a copy is made" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --backup "$TMP/copy"

# After the copy.
api DELETE "/v1/leases/$over_id" >/dev/null
await_line waiting ready || bail "the lease that waited got no GPU"
for i in $(seq 24); do
    start_held "share$i" 1 "$ctl" run --mem 64M --
    held+=("share$i")
done
for i in $(seq 24); do await_line "share$i" ready || bail "share$i does not start"; done
idle=$(api POST /v1/leases '{"request": {"gpus": [{}], "box": "box4"}, "ticket": true, "key": "job 7", "job": "job 7"}')
idle_id=$(at lease.id <<<"$idle")
ok "all programs compute" all_answer 1
with_sessions "$idle_id" >"$TMP/before"
is "$(wc -l <"$TMP/before")" 26 "26 leases have sessions"

crash
ok "the copy is restored" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --restore "$TMP/copy"
come_back
ok "all programs go on" all_answer 2
has_all() { with_sessions "$idle_id" >"$TMP/after"; cmp -s "$TMP/before" "$TMP/after"; }
ok "the broker has all their leases as they were" await "the leases" has_all || diff "$TMP/before" "$TMP/after" >&2
is "$(adopted)" 25 "25 of them adopted from their boxes, among them the one that waited in the copy"
is "$(error_code GET "/v1/leases/$idle_id")" not-found "a lease whose ticket nobody has used is not known"
ok "its ticket opens its GPU" use "$(at ticket <<<"$idle")"
is "$(api GET "/v1/leases/$idle_id" | at lease.key)" "job 7" "and makes the broker adopt it"
is "$(api POST /v1/leases '{"request": {"gpus": [{}], "box": "box4"}, "key": "job 7", "job": "job 7"}' | at lease.id)" "$idle_id" \
    "so the same request gets it again"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{}], "box": "box4"}}')" busy "its GPU is for nobody else"
ok "the promises hold" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --check
ok "and the invariants" invariants
crash
come_back
ok "a restart of the broker changes nothing" all_answer 3
ok "it has all leases" await "the leases" has_all

# With an empty database, and a broker that is killed while it adopts.
leases_now >"$TMP/before"
crash
rm -f "$BROKER_DIR"/pool.sqlite*
for point in adopt.lease_written adopt.committed; do
    start_broker RGPU_FAULT=$point:kill@5
    ok "a broker is killed at $point" await "its end" ended "$BROKER_PID"
    wait "$BROKER_PID" 2>/dev/null || true
done
come_back
ok "with an empty database, too, all programs go on" all_answer 4
ok "and the broker has all leases as they were, also the one between two programs" await "the leases" eval \
    'leases_now >"$TMP/after"; cmp -s "$TMP/before" "$TMP/after"' || diff "$TMP/before" "$TMP/after" >&2
ok "the invariants hold" invariants

# They end as ever.
api DELETE "/v1/leases/$idle_id" >/dev/null
for name in "${held[@]}"; do stop "${line_pid[$name]}"; done
none_left() { [ -z "$("$ctl" leases --json)" ]; }
ok "all leases end" await "the end" none_left
like "$(use "$(at ticket <<<"$idle")" 2>&1 || true)" 'the lease has ended' "an ended lease opens nothing"
ok "the invariants hold" invariants --idle
done_testing
