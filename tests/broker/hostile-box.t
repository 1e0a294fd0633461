#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box that is taken over has its own key and can send what it likes. The broker goes on, keeps its database sound, and
# keeps the events of others.
. "$(dirname "$0")/broker.sh"
start_broker
api GET /v1/boxes/evil/key | at keys >"$TMP/evil.key"
chmod 600 "$TMP/evil.key"
send() { python3 "$TOP/tests/broker/signed.py" "$BROKER" "$TMP/evil.key" --box evil "$@"; }
# description PREFIX COUNT [MODEL]: a registration with that many GPUs
description() {
    python3 -c '
import json, sys
prefix, count, model = sys.argv[1], int(sys.argv[2]), (sys.argv[3:] or ["M"])[0]
print(json.dumps({"instance": "i", "addresses": "127.0.0.1:1", "gpus": [
    {"uuid": "GPU-%s-%d" % (prefix, i), "index": i, "model": model, "memory": 1 << 34} for i in range(count)]}))' "$@"
}
register() { send PUT /v1/boxes/evil "$(description "$@")"; }
report() { send POST /v1/boxes/evil/sync "{\"instance\": \"i\", \"sessions\": [], \"ended\": []$1}"; }
status() { head -n 1 <<<"$1"; }
gpus() { api GET /v1/boxes/evil | at box.gpus; }

# ---- more GPUs than a box can have ----

is "$(status "$(register old 64)")" 200 "a box registers 64 GPUs"
for again in first second; do
    is "$(status "$(register new 64 || true)")" 200 "and then 64 others, for the $again time"
done
is "$(gpus)" 64 "GPUs that it had earlier are forgotten"
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
start_broker
is "$(gpus)" 64 "the broker starts anew with the same database"
is "$(status "$(register new 64)")" 200 "the box registers again"
report '' >/dev/null
api POST /v1/leases "{\"owner\": 1001, \"request\": {\"gpus\": [{\"count\": 1}]}}" >"$TMP/lease" || diag "$(cat "$TMP/lease")"
lease=$(at lease.id <"$TMP/lease")
answer=$(register late 64)
is "$(status "$answer")" 409 "what a lease names is not forgotten"
like "$answer" 'leases still name the box has more than 64' "and the box is told why"
is "$(gpus)" 64 "nothing has changed"

# ---- text that steers terminals ----

is "$(status "$(register new 64 "$(printf 'M\033]0;title\007')")")" 400 "a model with control characters is refused"
is "$(status "$(register new 64 "$(printf 'M%.0s' {1..300})")")" 400 "so is one without end"
is "$(status "$(register "$(printf 'a\033[2J')" 1)")" 400 "and a UUID with control characters"
is "$(status "$(register gpubox:0 1)")" 400 "and one that looks like BOX:INDEX"

body=$(description new 1)
is "$(status "$(send PUT /v1/boxes/evil "${body/17179869184/9223372036854775807}")")" 400 "and a memory that would overflow sums"

# ---- events without end ----

cat >"$TMP/idle.py" <<'PY'
import json
import sys
row = {"lease": sys.argv[1], "state": "suspended", "idle": True}
print(",\"suspensions\": " + json.dumps([row, dict(row, calls=True)] * 400))
PY
events() { api GET '/v1/events?after=-1000' | grep -o "\"$1\"" | wc -l; }
is "$(status "$(report "$(python3 "$TMP/idle.py" "$lease")")")" 200 "a lease is said to be idle and not idle, 400 times in one report"
count=$(events lease.suspending)
ok "which makes at most 110 events, and not 400: $count" test "$count" -le 110
ok "and the lease runs" lease_is "$lease" granted
like "$(send --times 150 PUT /v1/boxes/evil "$(description new 64)")" '"too-often"' "a box that registers all the time is refused"
is "$(status "$(report ", \"refused\": [$(printf "\"$lease\",%.0s" {1..2000})\"$lease\"]")")" 200 "a lease is refused 2001 times in one report"
ok "which makes few lines in the log" test "$(grep -c 'it takes it again' "$BROKER_LOG")" -le 1

# ---- a GPU that another box has given away for a while ----

gpu=$(api GET "/v1/leases/$lease" | at lease.gpus.0.gpu)
api POST "/v1/leases/$lease/suspend" '{}' >/dev/null
report ", \"suspensions\": [{\"lease\": \"$lease\", \"state\": \"suspended\"}]" >/dev/null
is "$(api GET "/v1/gpus/$gpu" | at gpu.leases)" 0 "a suspended lease has left its GPU"
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
start_broker --heartbeat 60s --away-after 150s
is "$(error_code PUT /v1/boxes/thief "$(python3 -c '
import json, sys
print(json.dumps({"instance": "i", "addresses": "127.0.0.1:2", "gpus": [
    {"uuid": sys.argv[1], "index": 0, "model": "M", "memory": 1 << 34}]}))' "$gpu")")" taken "no other box gets it while its own is away"

# After a restart all boxes are yet to come back: who is first must not keep another one out of the pool.
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
start_broker --heartbeat 60s --away-after 150s
free=GPU-new-63
[ "$free" != "$gpu" ] || free=GPU-new-62
is "$(error_code PUT /v1/boxes/thief "$(python3 -c '
import json, sys
print(json.dumps({"instance": "i", "addresses": "127.0.0.1:2", "gpus": [
    {"uuid": sys.argv[1], "index": 0, "model": "M", "memory": 1 << 34}]}))' "$free")")" taken "nor one without a lease, before its own is back"

# ---- memory ----

is "$(status "$(register new 64)")" 200 "the box registers with a broker that lets reports wait for long"
said=$(python3 "$TOP/tests/broker/hostile_reports.py" "$BROKER" "$TMP/evil.key")
like "$said" 'more than 65536 values' "a report with more values than reports have is refused"
like "$said" '"overtaken"' "and of two reports at once one is kept"
done_testing
