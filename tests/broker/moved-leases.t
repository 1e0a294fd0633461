#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease goes to another GPU of its box: the pool holds that one afterwards and the other is free, or why not is said
# and nothing has changed; over restarts of the broker and of the box, and with a revocation on the way. A drain has
# leases go by itself.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

export RGPU_SIM_MEMORY=512M,512M,512M,256M
start_broker
# Nothing here depends on how long a suspension may take.
box=(--devices sim:4 --suspend-timeout 10min --suspend-memory 160M --admin-socket "$TMP/admin")
start_cuda_box box1 "${box[@]}"
box_port=${BOX##*:} box_pid=$BOX_PID
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
for i in 0 1 2; do "$ctl" mode "box1:$i" auto; done
# job NAME "MIB [NANOSECONDS]" [rgpuctl run arguments]: such a lease on a GPU that is large enough. Sets LEASE.
job() { hold_lease "$1" "$2" --constraint min-memory=400M "${@:3}"; }
place() { api GET "/v1/leases/$1" | at "lease.gpus.${2:-0}.index"; }
target() { api GET "/v1/leases/$1" | at lease.gpus.0.target; }
holders() { "$ctl" gpus --json | grep '"box":"box1"' | sed -n 's/.*"index":\([0-9]\),.*"leases":\([0-9]*\).*/\1 \2/p' | sort | sed 's/..//' | tr '\n' ' '; }
says() { like "$(cat "$TMP/ok.out")" "$1" "which is said"; }
none_left() { [ -z "$("$ctl" leases --json)" ]; }
last_event() { "$ctl" events --lines 30 | grep -o 'lease\.[a-z-]*moved' | tail -n 1; }
worker() { "$ctl" sessions --socket "$TMP/admin" --json | sed -n "s/.*\"pid\":\([0-9]*\),.*\"lease\":\"$1\".*/\1/p"; }

job one 8
one=$LEASE
[ "$(place "$one")" != 2 ] || "$ctl" move "$one" --to box1:0
ok "a lease goes to another GPU" "$ctl" move "$one" --to box1:2
is "$(place "$one") $(holders)" "2 0 0 1 0 " "which it holds then, and nothing else"
look one
ok "and the program has its data" await_line one '^right 1$'
ok "the first is for others" "$ctl" run --constraint box=box1 -- "$BUILD/tests/programs/saxpy"
like "$("$ctl" sessions --json)" "\"gpu\":\"$(api GET /v1/gpus/box1:2 | at gpu.uuid)\"" "sessions are shown where they are"
is "$(last_event)" lease.moved "the log of events has it"
ok "the rules of the pool hold" invariants

fails "not to a smaller GPU" "$ctl" move "$one" --to box1:3
says 'too small: it has 256 MiB, and the present one 512'
fails "nor where it is" "$ctl" move "$one" --to box1:2
says 'on that GPU already'
fails "nor to a GPU that is not there" "$ctl" move "$one" --to box1:7
says 'no GPU box1:7'
job two 8
two=$LEASE
fails "nor to one that another lease holds" "$ctl" move "$one" --to "box1:$(place "$two")"
says 'another lease holds that GPU'
api PUT /v1/boxes/box2 '{"instance": "i", "addresses": "h:1", "gpus": [
    {"uuid": "GPU-far", "index": 0, "model": "other", "memory": 1099511627776}]}' >"$TMP/box2"
ok "a GPU that nobody has is for shares" "$ctl" mode box1:1 shared
fails "nor to one of another mode" "$ctl" move "$one" --to box1:1
says 'that GPU is shared, and the lease exclusive: .*rgpuctl mode'
ok "and for both again" "$ctl" mode box1:1 auto
fails "nor to another box" "$ctl" move "$one" --to GPU-far
says 'is on box box1 and not on box2, and leases are not moved from box to box'
fails "nor a lease that does not live" "$ctl" move L000000000000000 --to box1:1
fails "nor without a GPU" "$ctl" move "$one"
is "$(error_code POST "/v1/leases/$one/move" '{}')" bad-request "the API wants to be told where to"
look one
ok "the program runs on" await_line one '^right 2$'

# The box cannot, and says so.
stop "${line_pid[two]}"
ok "the second has ended" await "its end" lease_is "$two" ended
job large 40
large=$LEASE before=$(place "$LEASE")
fails "what finds no room on the way stays where it is" "$ctl" move "$large" --to "box1:$((1 - before))"
says 'is not moved: its memory, .* MiB, does not fit: suspend_memory'
is "$(place "$large") $(target "$large") $(last_event)" "$before  lease.not-moved" "in the pool as well"
stop "${line_pid[large]}"
ok "and is over" await "the end" lease_is "$large" ended

# On the way: the worker answers nobody, so that the box does not come to an end with it.
on_the_way() {
    kill -STOP "$(worker "$one")"
    "$ctl" move "$one" --to "box1:$1" --no-wait
}
on_the_way 0
is "$(place "$one") $(holders)" "2 1 0 1 0 " "on its way it holds both"
fails "and is not sent elsewhere" "$ctl" move "$one" --to box1:1
says 'on its way to another GPU already'
stop "$BROKER_PID" KILL
start_broker
await "the box is back" box_is box1 up
is "$(place "$one") $(holders)" "2 1 0 1 0 " "a broker that is started again knows"
kill -CONT "$(worker "$one")"
ok "it arrives" await "the move" eval '[ "$(place "$one") $(holders)" = "0 1 0 0 0 " ]'
look one
ok "with its data" await_line one '^right 3$'
ok "the rules of the pool hold" invariants

on_the_way 1
ok "who is revoked on the way" "$ctl" revoke "$one"
ok "is over" await "the end" none_left
is "$(holders)" "0 0 0 0 " "and holds neither"

# The box is killed: the lease lives, on the GPU that it was to go to.
job one 8
one=$LEASE
[ "$(place "$one")" != 2 ] || "$ctl" move "$one" --to box1:0
on_the_way 2
stop "$box_pid" KILL
start_cuda_box box1 "${box[@]}" --listen "127.0.0.1:$box_port"
ok "a box that is killed on the way" await "the move" eval '[ "$(place "$one") $(target "$one")" = "2 " ]'
stop "${line_pid[one]}"
ok "its leases end" await "the end" none_left
ok "the rules of the pool hold" invariants

# Shares, suspended leases and drains
job one 8 --mem 100M
one=$LEASE
from=$(place "$one")
job two 8 --mem 100M
is "$(place "$LEASE")" "$from" "two shares of one GPU"
ok "one is suspended" "$ctl" suspend "$one"
ok "and goes to another GPU as it is" "$ctl" move "$one" --to "box1:$(((from + 1) % 3))"
look one
fails "where it waits" read_line one 0.2
ok "it returns there" "$ctl" resume "$one"
ok "with its data" await_line one '^right 1$'
is "$(place "$one")" "$(((from + 1) % 3))" "which the pool shows"
ok "the GPU is drained, and what holds it is to go elsewhere" "$ctl" drain "box1:$from" --move --wait
look two
ok "which it does with its data" await_line two '^right 1$'
is "$(api GET "/v1/gpus/box1:$from" | at gpu.state)" drained "nothing holds the GPU"
ok "the rules of the pool hold" invariants
ok "the whole box" "$ctl" drain box1 --move
like "$(cat "$TMP/ok.out")" "$one is not moved: its box is drained as a whole" "has no other GPU to go to, which is said"
look one
ok "and they run on" await_line one '^right 2$'
fails "force and move are not one" "$ctl" drain box1 --move --force
fails "nor do boxes by themselves move anything" "$ctl" drain --move --socket "$TMP/admin"
stop "${line_pid[one]}"
stop "${line_pid[two]}"
ok "all leases are over" await "the end" none_left
ok "the invariants hold" invariants --idle
done_testing
