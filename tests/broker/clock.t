#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The wall clock jumps: leases end neither at once nor never, and who waits is not woken in vain.
. "$(dirname "$0")/broker.sh"
library=$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1)
[ -n "$library" ] || skip_all "libfaketime is not there"
[ -z "${SAN:-}" ] || skip_all "a sanitized program cannot be given another library first"

echo +0 >"$TMP/clock"
start_with_clock() {
    start_broker FAKETIME_TIMESTAMP_FILE="$TMP/clock" FAKETIME_NO_CACHE=1 \
        FAKETIME_DONT_FAKE_MONOTONIC=1 LD_PRELOAD="$library"
}
start_with_clock
start_pool_box box1
short=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "lifetime": 1000}')
id=$(at lease.id <<<"$short") expires=$(at lease.expires <<<"$short")
set_clock() { echo "$1" >"$TMP/clock.new"; mv "$TMP/clock.new" "$TMP/clock"; }
expires_about() { local now; now=$(api GET "/v1/leases/$id" | at lease.expires); [ $((now - expires - $1)) -ge -3 ] && [ $((now - expires - $1)) -le 3 ]; }

set_clock +86400
ok "a day forward: the lease's end moves along" await "the shift" expires_about 86400
ok "and it lives" lease_is "$id" granted
set_clock -86400
ok "two days back: again" await "the shift" expires_about -86400
set_clock +0
ok "and to where it was" await "the shift" expires_about 0
like "$(api GET '/v1/events?after=0&limit=1000')" '"clock.changed"' "the changes are in the event log"
ok "renewed for a second" api POST "/v1/leases/$id/renew" '{"lifetime": 1}'
ok "it ends" await "the end" lease_is "$id" ended
ok "the box was not taken for absent" box_is box1 up
ok "the invariants hold" invariants --idle

stop "$BROKER_PID" TERM
wait "$BROKER_PID" 2>/dev/null || true
set_clock +86400
start_with_clock
set_clock +0
like "$(timeout 10 python3 "$TOP/tests/broker/signed.py" "$BROKER" "$TMP/admin.key" GET /v1/boxes || true)" '^200' \
    "a broker whose clock was a day ahead at its start takes signed requests once it is right"
ok "and its boxes come back" await "the box" box_is box1 up
done_testing
