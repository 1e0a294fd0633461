#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box whose disk does nothing goes on: clients of other leases come and go, the lease that ended is refused at once,
# and its end is confirmed to the broker once it is on disk, not before.
. "$(dirname "$0")/broker.sh"

gate=$TMP/gate
gates_closed() { mkfifo "$gate"; }
open_gate() { exec {gate_fd}<>"$gate"; rm "$gate"; }
preload=$(preload_for_sanitizers)
start_broker
start_pool_box LD_PRELOAD="${preload:+$preload:}$BUILD/tests/sync-gate.so" SYNC_GATE="$gate" box1
take='{"request": {"gpus": [{}]}, "ticket": true}'
ending=$(api POST /v1/leases "${take%\}}, \"key\": \"ends\"}")
staying=$(api POST /v1/leases "$take")
id=$(at lease.id <<<"$ending")
opens() { RGPU_TICKET=$(at ticket <<<"$1") "$CLIENT" "$BOX" echo hi; }
ok "a lease opens sessions" opens "$ending"

requests() { api GET /metrics | sed -n 's/^rgpu_requests_total //p'; }
asked_again() { [ "$(grep -c "lease=$id is to end" "$BOX_LOG")" -ge "$1" ]; }
gates_closed
ok "it is released while the box's disk does nothing" api DELETE "/v1/leases/$id"
ok "the box is told" await "the order" asked_again 1
for _ in 1 2 3; do ok "clients of another lease are served" opens "$staying"; done
like "$(opens "$ending" || true)" 'the lease has ended' "those of the ended lease are refused"
ok "rgpuctl is answered" admin health
ok "the broker asks again and again" await "orders" asked_again 4
ok "and is told nothing" lease_is "$id" ending
is "$(api GET /v1/gpus | grep -o '"state":"free"' | wc -l)" 0 "so that the GPU is given to nobody"
release() { api POST /v1/leases/release "{\"key\": \"ends\", \"wait\": $1}" | at lease.state; }
is "$(release 1)" ending "who waits a second for the end is told that it has not come"
release 60 >"$TMP/released" &
waiting=$!
is "$(cat "$TMP/box-box1/revoked" 2>/dev/null)" "" "nothing is on disk"
open_gate
ok "once the disk goes on the end is confirmed" await "the end" lease_is "$id" ended
wait $waiting
is "$(cat "$TMP/released")" ended "and who waits for it is answered"
like "$(cat "$TMP/box-box1/revoked")" "^$id " "and is on disk"
stop "$BOX_PID" KILL
start_pool_box box1
like "$(opens "$ending" || true)" 'the lease has ended' "where the next start finds it"
done_testing
