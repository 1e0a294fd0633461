#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Why a box or a GPU is drained, by whom and since when, is kept, shown wherever the drain is seen, and told
# to those who wait for it; putting it back into service forgets it.
. "$(dirname "$0")/broker.sh"

start_broker
start_pool_box box1
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
status_of() { local status=0; "$@" >"$TMP/out" 2>&1 || status=$?; echo $status; }
metrics() { api GET /metrics; }

before=$(date +%s)
ok "drain with a reason" "$ctl" drain box1 --reason 'fan 3 rattles'
box=$(api GET /v1/boxes/box1)
is "$(at box.drain.reason <<<"$box")" 'fan 3 rattles' "the API has the reason"
is "$(at box.drain.by <<<"$box")" 'admin uid=0' "and who said so"
ok "and since when" test "$(at box.drain.since <<<"$box")" -ge "$before"
is "$(api GET /v1/gpus/box1:0 | at gpu.drain.reason)" 'fan 3 rattles' "its GPUs have it from the box"
like "$("$ctl" boxes)" '^box1 .* fan 3 rattles \(root, ' "boxes"
like "$("$ctl" gpus)" '^box1 +0 .* fan 3 rattles \(root, ' "gpus"
like "$("$ctl" top --once)" 'fan 3 rattles \(root, ' "top"
like "$("$ctl" show box1)" 'Drained: +fan 3 rattles \(root, ' "show"
like "$(metrics)" 'rgpu_pool_box_drained\{box="box1",reason="fan 3 rattles"\} 1' "metrics"
like "$("$ctl" events --lines 1)" 'box.drained +box=box1 by="root" \{"reason":"fan 3 rattles"\}' "the history of events"
named() { [ "$(api GET /v1/overview?find=rattles | at boxes.rows.0.drain.user)" = root ]; }
ok "the status page finds it by the reason, and names its author" await "his name" named

is "$(error_code POST /v1/leases '{"request": {"gpus": [{}]}}')" busy "who asks is refused"
like "$(api POST /v1/leases '{"request": {"gpus": [{}]}}' || true)" '2 are drained \(box1: fan 3 rattles\)' "and told of the drain"
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "queue": true}')
like "$(at lease.pending <<<"$lease")" '0 of 2 .* in service, it wants 1; 2 are drained \(box1: fan 3 rattles\)' "who waits as well"
lease=$(at lease.id <<<"$lease")
like "$(api GET "/v1/leases/$lease" | at lease.pending)" 'box1: fan 3 rattles' "and when it is asked for"
like "$(api GET "/v1/leases/$lease?wait=1" | at lease.pending)" 'box1: fan 3 rattles' "and to somebody who waits for it"
like "$("$ctl" leases)" "^$lease +queued .*box1: fan 3 rattles" "in leases"
like "$("$ctl" show "$lease")" 'Waits: .*box1: fan 3 rattles' "and when one looks at it"
start waiter "$ctl" run --constraint box=box1 -- true
waits() { grep -q 'waits for GPUs: .*box1: fan 3 rattles' "$TMP/waiter.log"; }
ok "rgpuctl run says why it waits" await "the reason" waits
"$ctl" drain box1 --reason 'fan 4 rattles too'
waits() { grep -q 'still waits for GPUs: .*box1: fan 4 rattles too' "$TMP/waiter.log"; }
ok "and when the reason is another one" await "the other reason" waits
"$ctl" drain box1 --reason 'fan 3 rattles'
stop "${line_pid[waiter]}"

ok "draining once more, to wait or by force" "$ctl" drain --wait --force box1
is "$(api GET /v1/boxes/box1 | at box.drain.reason)" 'fan 3 rattles' "keeps the reason"
ok "another reason" "$ctl" drain box1 --reason 'fan 3 ordered'
is "$(api GET /v1/boxes/box1 | at box.drain.reason)" 'fan 3 ordered' "takes its place"
stop "$BROKER_PID" KILL
start_broker
is "$(api GET /v1/boxes/box1 | at box.drain.reason)" 'fan 3 ordered' "it outlives the broker"
await "the box" sh -c "'$ctl' boxes | grep -q 'box1 *drained'"
is "$(api GET /v1/boxes/box1 | at box.drain.reason)" 'fan 3 ordered' "and a new registration of the box"
ok "undrain" "$ctl" undrain box1
is "$(api GET /v1/boxes/box1 | at box.drain)" '' "which forgets the reason"
ok "and serves who waits" await "the lease" lease_is "$lease" granted
ok "drained without a reason" "$ctl" drain box1
like "$("$ctl" boxes)" '^box1 .* - \(root, ' "says that there is none"
"$ctl" undrain box1

ok "a GPU" "$ctl" drain box1:1 --reason 'ECC errors'
is "$(api GET /v1/gpus/box1:1 | at gpu.drain.reason) $(api GET /v1/gpus/box1:0 | at gpu.drain)" 'ECC errors ' "has a reason of its own"
ok "its box is drained as well" "$ctl" drain box1 --reason 'moving' --force
is "$(api GET /v1/gpus/box1:1 | at gpu.drain.reason)" 'ECC errors' "and its own comes first"
is "$(api GET /v1/gpus/box1:0 | at gpu.drain.reason)" moving "the other has the box's"
like "$(metrics)" 'rgpu_pool_gpu_drained\{box="box1",gpu="1",reason="ECC errors"\} 1' "metrics of the GPU"
ok "the lease ends" await "its end" lease_is "$lease" ended
like "$("$ctl" leases --state ended)" "^$lease .* drained by force: moving" "and says why"

is "$(error_code POST /v1/boxes/box1/drain '{"reason": "two\nlines"}')" bad-request "a reason is one line"
is "$(error_code POST /v1/boxes/box1/drain '{"reason": 3}')" bad-request "of text"
is "$(error_code POST /v1/boxes/box1/drain "{\"reason\": \"$(printf %201s x)\"}")" bad-request "and not too long"
is "$(api GET /v1/boxes/box1 | at box.drain.reason)" moving "what is refused changes nothing"
is "$(status_of "$ctl" undrain box1 --reason x)" 2 "undrain takes none"
ok "the invariants hold" invariants --idle
done_testing
