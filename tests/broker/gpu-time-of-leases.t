#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The time for which GPUs were busy with what leases asked for is counted by boxes and kept by the broker: by lease, user
# and account, once, whatever of the two is killed; and what makes no sense counts nothing.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

start_broker --anonymous-read=yes
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
# What leases have had, as milliseconds.
busy() { api GET "/v1/leases/$1" | python3 -c '
import json, sys
print(round(json.load(sys.stdin)["lease"]["busy_gpu_seconds"] * 1000))'; }
busy_is() { [ "$(busy "$1")" = "$2" ]; }
is_over() { [ "$(api GET "/v1/leases/$1" | at lease.state)" = ended ]; }

# Boxes of the test's own, which say what they like, each over a connection that it keeps. Usually a count is said to be
# over, so that it is written at once.
cat >"$TMP/boxes.py" <<'EOF2'
import http.client, json, sys
sys.path.insert(0, sys.argv[1])
from pool import Api
apis = {}
for line in sys.stdin:
    box, method, path, body = line.split(" ", 3)
    api = apis.setdefault(box, Api(sys.argv[2]))
    try:
        status, text = api.raw(method, path, body)
    except (OSError, http.client.HTTPException):
        status, text = api.raw(method, path, body)  # of a broker that was started anew
    print(text.replace("\n", " "), flush=True)
EOF2
mkfifo "$TMP/ask" "$TMP/answer"
start boxes sh -c 'from=$1 to=$2; shift 2; exec python3 "$@" <"$from" >"$to"' sh "$TMP/ask" "$TMP/answer" "$TMP/boxes.py" "$TOP/tests/broker" "$BROKER_SOCKET"
exec {ask}>"$TMP/ask" {answer}<"$TMP/answer"
ask() { printf '%s\n' "$*" >&$ask && IFS= read -r -u $answer LINE && echo "$LINE"; }
box() {
    ask "$1" PUT "/v1/boxes/$1" '{"instance": "'"$2"'", "addresses": "127.0.0.1:1", "gpus": [{"uuid": "GPU-'"$1"'", "index": 0, "model": "m", "memory": 1000000}]}' >/dev/null
    say "$1" "$2" "" >/dev/null
}
say() { ask "$1" POST "/v1/boxes/$1/sync" '{"instance": "'"$2"'", "sessions": [], "gpu_time": ['"$3"']}'; }
count() { echo "{\"lease\": \"$1\", \"count\": $2, \"milliseconds\": $3, \"estimated\": ${4:-false}, \"over\": true}"; }

box mine one
box other one
lease=$(api POST /v1/leases '{"request": {"gpus": [{}], "box": "mine"}, "account": "physics", "job": "slurm job 7"}' | at lease.id)
is "$(say mine one "$(count "$lease" 1 5000)" | at gpu_time_kept)" True "a count that is over is written at once"
is "$(busy "$lease")" 5000 "and belongs to its lease"
say mine one "$(count "$lease" 1 5000)" >/dev/null
is "$(busy "$lease")" 5000 "what is said again is not counted again"
say mine one "$(count "$lease" 1 7500), $(count "$lease" 1 7000)" >/dev/null
is "$(busy "$lease")" 7500 "but what came since, and a count does not go back"
stop "$BROKER_PID" KILL
start_broker --anonymous-read=yes
box mine one
box other one
say mine one "$(count "$lease" 1 8000)" >/dev/null
is "$(busy "$lease")" 8000 "a broker that was killed knows how far it was"
say mine one "$(count "$lease" 2 300)" >/dev/null
is "$(busy "$lease")" 8300 "another count begins at nothing"
box mine two
say mine two "$(count "$lease" 2 200)" >/dev/null
is "$(busy "$lease")" 8500 "so do those of a box that was started anew"
say other one "$(count "$lease" 1 1000000)" >/dev/null
is "$(busy "$lease")" 8500 "a box that the lease has nothing of does not count for it"
say mine two "$(count "$lease" 2 -5), $(count "$lease" 2 99999999999999999), $(count nobody 1 5), 7, null, {}, {\"lease\": 4, \"milliseconds\": \"x\"}" >/dev/null
is "$(busy "$lease")" 8500 "what makes no sense counts nothing"
other=$(api POST /v1/leases '{"owner": 1001, "request": {"gpus": [{}], "box": "other"}}' | at lease.id)
for number in 1 2 3 4; do say other one "$(count "$other" $number $((1 << 48)))" >/dev/null; done
ok "no lease has more than its GPUs can have been busy for" test "$(busy "$other")" -gt 0 -a "$(busy "$other")" -le 120000
api DELETE "/v1/leases/$other" >/dev/null
say other one "" >/dev/null
api DELETE "/v1/leases/$lease" >/dev/null
ok "the lease is over" await "its end" is_over "$lease"
say mine two "$(count "$lease" 2 1700 true)" >/dev/null
is "$(busy "$lease")" 10000 "what is told after its end is still its"

bytes() { api GET "/v1/leases/$lease" | python3 -c 'import json, sys; lease = json.load(sys.stdin)["lease"]; print(lease["bytes_in"], lease["bytes_out"])'; }
network() { echo "{\"lease\": \"$lease\", \"count\": $1, \"milliseconds\": 0, \"bytes_in\": $2, \"bytes_out\": $3, \"over\": true}"; }
say mine two "$(network 3 1000 20)" >/dev/null
say mine two "$(network 3 1500 20), $(network 3 1400 30)" >/dev/null
is "$(bytes) $(busy "$lease")" "1500 30 10000" "bytes over the network are counted likewise"
say mine two "$(network 4 -1 5), $(network 4 5 9000000000000000000)" >/dev/null
is "$(bytes)" "1500 30" "and none that make no sense"
energy() { api GET "/v1/leases/$1" | at lease.energy_joules; }
spend() { echo "{\"lease\": \"$lease\", \"count\": $1, \"milliseconds\": 0, \"millijoules\": $2, \"over\": true}"; }
say mine two "$(spend 4 2500), $(spend 4 2400), $(spend 4 -7), $(spend 4 9000000000000000000)" >/dev/null
is "$(energy "$lease")" 2.5 "so is energy"
say mine two "$(network 4 1048576 0)" >/dev/null
row() { "$ctl" usage --by "$1" --json --from 1d | head -n 1; }
is "$(row lease | at lease) $(row lease | at account) $(row lease | at job)" "$lease physics slurm job 7" "usage by lease"
is "$(row lease | at bytes_in) $(row lease | at bytes_out)" "1050076 30" "with its bytes"
is "$("$ctl" usage --job 7 --format net-in,net-out | tr -s ' ' | sed -n 2p | xargs)" "1.0M 30" "as a table"
is "$(row account | at account) $(row account | at leases)" "physics 1" "by account"
is "$(row user | at user)" "$(id -un)" "by user"
for by in lease account user; do
    is "$(row $by | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["busy_gpu_hours"] * 3600))')" 10 "by $by: hours in which it was busy"
done
is "$(row lease | at estimated)" True "and that some of it is an estimate"
like "$("$ctl" usage --by account --from 1d | head -n 1)" 'ACCOUNT +LEASES +GPU-HOURS +BUSY-HOURS' "as a table"
is "$("$ctl" usage --job 7 --json | at lease)" "$lease" "of one job"
like "$(row lease | at efficiency)" '^[0-9]+$' "with its efficiency"
fails "and of no job that is not known" "$ctl" usage --job 8
is "$("$ctl" usage --by lease --from 2020-01-01 --to 2020-01-02 --json)" "" "in another time there was nothing"
is "$(error_code GET '/v1/usage?by=colour')" bad-request "by what it cannot be told is refused"
invariants >/dev/null && pass "the database keeps its promises" || fail "the database keeps its promises"

# A real box with a program that computes.
start_cuda_box box1 --memory-check 100ms
lease=$(api POST /v1/leases '{"request": {"gpus": [{}], "box": "box1"}, "ticket": true}')
id=$(at lease.id <<<"$lease")
start busy env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$(at ticket <<<"$lease")" "$BUILD/tests/programs/endure" --busy
await_line busy 'round 0' || bail "no session"
RGPU_TRANSPORT=tcp LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$(at ticket <<<"$lease")" "$BUILD/tests/programs/copies" >/dev/null
moved() { api GET "/v1/leases/$id" | at lease.bytes_in; }
none_moves() { ! "$ctl" top --json | grep '"list":"leases"' | grep -q bytes_in; }
ok "a session over shared memory moves none, and top has those of running sessions" await "the end of the one over tcp" none_moves
start networked env RGPU_TRANSPORT=tcp LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$(at ticket <<<"$lease")" "$BUILD/tests/programs/endure" --busy
await_line networked 'round 0' || bail "no session"
running() { "$ctl" top --json | grep '"list":"leases"' | grep -q '"bytes_in":[1-9]'; }
ok "top has the bytes of a lease" await "its bytes" running
stop "$PID" KILL
PID=${line_pid[busy]}
works() { api GET /v1/sessions | grep -Eq '"utilization": ?[1-9]'; }
await "kernels to be seen" works
stop "$PID" KILL
# A box tells which sessions there are and how far the counts are in one report, so without the session the count is final.
no_session() { ! api GET /v1/sessions | grep -q "$id"; }
ok "the session is over" await "its end" no_session
seen=$(busy "$id")
ok "its time was told by then" test "$seen" -gt 0
ok "and the bytes of the program over tcp" test "$(moved)" -gt 100000
ok "and the energy of the GPU that it had for itself" test "$(python3 -c "print($(energy "$id") > 0)")" = True
ok "metrics have it" grep -q "rgpu_lease_busy_gpu_seconds_total{lease=\"$id\",owner=\"[0-9]*\"} [0-9.]*[1-9]" \
    <(web "http://$BROKER/metrics")
ok "and its bytes" grep -q "rgpu_lease_network_bytes_total{lease=\"$id\",owner=\"[0-9]*\",direction=\"in\"} [1-9]" <(web "http://$BROKER/metrics")
invariants >/dev/null
stop "$BROKER_PID" KILL
start_broker --anonymous-read=yes
await "the box" box_is box1 up
is "$(busy "$id")" "$seen" "it is the same after a restart"

# What a share uses of its GPU's energy is not known.
api DELETE "/v1/leases/$id" >/dev/null
await "its end" is_over "$id"
first=$id
"$ctl" mode box1:0 shared --wait
lease=$(api POST /v1/leases '{"request": {"gpus": [{"mode": "shared", "memory": 1073741824}]}, "ticket": true}')
id=$(at lease.id <<<"$lease")
start share env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$(at ticket <<<"$lease")" "$BUILD/tests/programs/endure" --busy
await_line share 'round 0' || bail "no session"
await "kernels to be seen" works
stop "${line_pid[share]}" KILL
await "its end" no_session
ok "a share was busy" test "$(busy "$id")" -gt 0
is "$(energy "$id")" 0.0 "and has no energy"
is "$(api GET "/v1/leases?id=$first,none,$(printf %300s | tr ' ' x),$id" | python3 -c '
import json, sys
print(*["%s %s %d" % (l["id"], l["state"], round(l["busy_gpu_seconds"] * 1000)) for l in json.load(sys.stdin)["leases"]])')" \
    "$first ended $seen $id granted $(busy "$id")" "leases by their ids, ended ones too, without those that are not there"
done_testing
