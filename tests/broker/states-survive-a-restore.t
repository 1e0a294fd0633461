#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Leases that were suspended, resumed or moved since the copy of the database are so after its restore, and those that have their GPUs
# meanwhile go on beside them.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

ctl=$BUILD/bin/rgpuctl
start_broker
start_cuda_box box1 --devices sim:5
export RGPU_BROKER=unix:$BROKER_SOCKET
leases_now() {
    api GET /v1/leases | python3 -c 'import json, sys
for lease in json.load(sys.stdin)["leases"]:
    print(lease["id"], lease["state"], lease.get("suspension", ""), *(gpu["gpu"] + " " + str(gpu["held"]) for gpu in lease["gpus"]))' | sort
}
on() { api GET "/v1/leases/$1" | at lease.gpus.0.gpu; }
gpu() { api GET "/v1/gpus/box1:$1" | at gpu.uuid; }

hold_lease stays 1
stays=$LEASE
hold_lease returns 1
returns=$LEASE
hold_lease moves 1
moves=$LEASE
"$ctl" suspend "$returns" >/dev/null
ok "a copy is made" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --backup "$TMP/copy"

ok "a lease is resumed" "$ctl" resume "$returns"
hold_lease late 1
late=$LEASE
for i in 0 1 2 3 4; do [ "$(api GET "/v1/gpus/box1:$i" | at gpu.state)" = free ] && free=$i; done
was=$(on "$moves")
ok "one is moved" "$ctl" move "$moves" --to "box1:$free"
is "$(on "$moves")" "$(gpu "$free")" "to the GPU that is free"
hold_lease there 1
ok "another has the GPU where it was" [ "$(on "$LEASE")" = "$was" ]
there=$LEASE
for name in stays late; do ok "a lease is suspended" "$ctl" suspend "${!name}"; done
hold_lease first 1
hold_lease second 1
look returns && look moves && look there && look first && look second
for name in returns moves there first second; do await_line "$name" '^right 1$' >/dev/null || bail "$name"; done
leases_now >"$TMP/before"
is "$(wc -l <"$TMP/before")" 7 "seven leases share five GPUs"

stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
ok "the copy is restored" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --restore "$TMP/copy"
start_broker
await "the box" box_is box1 up
has_all() { leases_now >"$TMP/after"; cmp -s "$TMP/before" "$TMP/after"; }
ok "all leases are as before" await "the leases" has_all || diff "$TMP/before" "$TMP/after" >&2
for name in returns moves there first second; do look "$name"; done
for name in returns moves there first second; do ok "$name goes on" await_line "$name" '^right 2$'; done
look stays
fails "a suspended one is silent" read_line stays 0.2
ok "the invariants hold" invariants
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
rm -f "$BROKER_DIR"/pool.sqlite*
start_broker
await "the box" box_is box1 up
ok "with an empty database, too, all leases are as before" await "the leases" has_all || diff "$TMP/before" "$TMP/after" >&2
for name in returns moves there first second; do look "$name"; done
for name in returns moves there first second; do ok "$name goes on" await_line "$name" '^right 3$'; done
ok "the invariants hold" invariants
stop "${line_pid[first]}"
stop "${line_pid[second]}"
ok "when GPUs are free it is resumed" "$ctl" resume "$stays"
ok "with its data" await_line stays '^right 1$'
ok "and so is one that the copy does not have" "$ctl" resume "$late"
look late
ok "with its" await_line late '^right 1$'
for name in stays returns moves late there; do stop "${line_pid[$name]}"; done
none_left() { [ -z "$("$ctl" leases --json)" ]; }
ok "all leases end" await "the end" none_left
ok "the invariants hold at the end" invariants --idle
done_testing
