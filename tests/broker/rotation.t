#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cluster's key is changed while everything runs: old tickets serve until the overlap is over.
. "$(dirname "$0")/broker.sh"

start_broker
start_pool_box box1
ticket() { api POST /v1/tickets "{\"lease\": \"$id\"}" | at ticket; }
opens() { RGPU_TICKET=$1 "$CLIENT" "$BOX" echo hi; }
# rotate: what the administrator does after every change of cluster.key.
reload_broker() { kill -HUP "$BROKER_PID"; await "the broker's reload" sh -c "[ \$(grep -c 'read again' '$BROKER_LOG') = $1 ]"; }
reload_box() {
    api GET /v1/boxes/box1/key | at keys >"$TMP/box1.boxkey"
    kill -HUP "$BOX_PID"
    await "the box's reload" sh -c "[ \$(grep -c 'settings reloaded' '$BOX_LOG') = $1 ]"
}
id=$(api POST /v1/leases '{"request": {"gpus": [{}]}}' | at lease.id)
old=$(ticket)
ok "a ticket of the first key" opens "$old"

first=$(cat "$TMP/cluster.key")
second="k2 $(printf '%064d' 22)"
printf '%s\n%s\n' "$first" "$second" >"$TMP/cluster.key"
reload_broker 1
reload_box 1
ok "the second key is known and not yet used" opens "$(ticket)"
is "$(ticket | cut -d' ' -f3 | cut -d. -f1 | tr _- /+ | base64 -d 2>/dev/null | at kid)" "${first%% *}" "tickets still name the first"

printf '%s\n%s %s\n' "$second" "$first" $(($(date +%s) + 3600)) >"$TMP/cluster.key"
reload_broker 2
new=$(ticket)
is "$(cut -d' ' -f3 <<<"$new" | cut -d. -f1 | tr _- /+ | base64 -d 2>/dev/null | at kid)" k2 "then they name the second"
ok "which the box accepts already" opens "$new"
reload_box 2
ok "with its end known, the first still serves" opens "$old"
printf '%s\n%s %s\n' "$second" "$first" $(($(date +%s) - 1)) >"$TMP/cluster.key"
reload_broker 3
reload_box 3
like "$(opens "$old" || true)" 'does not take the ticket' "and after that no more"
ok "the second does" opens "$new"
printf 'nonsense\n' >"$TMP/cluster.key"
kill -HUP "$BROKER_PID"
await "the complaint" grep -q 'not a key file' "$BROKER_LOG"
ok "a broken key file changes nothing" opens "$(ticket)"
done_testing
