#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box that lies about what it has seen makes the broker begin an epoch, as an honest one does whose broker's database
# was restored: once for each start of the broker, and not again and again.
. "$(dirname "$0")/broker.sh"

body() {
    printf '{"instance": "i", "addresses": "127.0.0.1:1", "gpus": [{"uuid": "GPU-liar", "index": 0, "model": "Fake",
        "memory": 107374182400, "context": 268435456, "mode": "exclusive"}]%s}' "${1:-}"
}
register() { api PUT /v1/boxes/liar "$(body "${1:-}")"; }
report() { api POST /v1/boxes/liar/sync "{\"instance\": \"i\", \"ended\": [], \"sessions\": [$1]}"; }
epochs() { api GET '/v1/events?after=-100' | grep -o '"history.lost"' | wc -l; }
seen() { printf ', "seen": {"epoch": %d, "run": "%s", "event": %d}' "$@"; }

start_broker
answer=$(register)
epoch=$(at epoch <<<"$answer") run=$(at run <<<"$answer") event=$(at event <<<"$answer")
ok "a box that has seen what was told registers" register "$(seen "$epoch" "$run" "$event")"
is "$(epochs)" 0 "that is no loss"
for claim in "$(seen "$epoch" "$run" $((event + 1000)))" "$(seen "$epoch" deadbeef 1)" "$(seen $((epoch + 1)) "$run" 1)"; do
    ok "it registers with what this broker never told it:$claim" register "$claim"
done
is "$(epochs)" 0 "which begins no epoch"
lost() { report "{\"lease\": \"$1\", \"epoch\": $(($(date +%s) + 60))}"; }
lost L-none-1 >/dev/null || true
is "$(epochs)" 1 "sessions that nobody knows of begin one when they are first reported"
register >/dev/null
lost L-none-2 >/dev/null || true
register >/dev/null
lost L-none-3 >/dev/null || true
is "$(epochs)" 1 "and later ones do not"

stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
start_broker
epoch=$(api GET '/v1/events?after=-100' | grep -o '"epoch": *[0-9]*' | tail -n 1 | grep -o '[0-9]*')
ok "after a restart of the broker it is believed" register "$(seen "$epoch" deadbeef 1)"
is "$(epochs)" 2 "as it must be"
register "$(seen $((epoch + 1000)) deadbeef 2)" >/dev/null || true
is "$(epochs)" 2 "once"
done_testing
