#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl shows the pool and steers it: drain, mode, revoke, gone, events, and exit statuses.
. "$(dirname "$0")/broker.sh"

start_broker
start_pool_box box1
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
status_of() { local status=0; "$@" >"$TMP/out" 2>&1 || status=$?; echo $status; }
take() { api POST /v1/leases "{\"request\": {\"gpus\": [$1]}, \"ticket\": true, \"job\": \"a job\"}" | at lease.id; }

like "$("$ctl" boxes)" '^box1 +up +2 +0 ' "boxes"
like "$("$ctl" gpus)" '^box1 +0 .* free +exclusive' "gpus"
lease=$(take '{"count": 2}')
like "$("$ctl" leases)" "^$lease +granted +$(id -un) +a job +box1:0,1 " "leases"
is "$("$ctl" leases --json | at id)" "$lease" "leases as JSON"
like "$("$ctl" top)" "$lease" "top prints one screen where there is no terminal"
ok "health" "$ctl" health
like "$("$ctl" leases)" "^$lease +granted +$(id -un) " "whose they are, by name"
is "$("$ctl" gpus --format gpu,state --sort -gpu --only 'box=BOX*' | tr -s ' \n' '  ')" "GPU STATE 1 used 0 used " "columns, order and rows as one wants them"
is "$("$ctl" gpus --only gpu=1 --json | at index)" 1 "also as JSON"
is "$(status_of "$ctl" gpus --sort size)" 2 "a column that is not there"
like "$(cat "$TMP/out")" 'no column size; there are BOX, GPU' "is told with those that are"
is "$(status_of "$ctl" gpus --only gpu)" 2 "and so is what is no condition"
waiting=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "queue": true}' | at lease.id)
like "$("$ctl" leases --state queued)" "^$waiting .* 0 of 2 GPUs of its kind are free, it wants 1" "why somebody waits"
ok "he goes" "$ctl" revoke "$waiting"

complete_words() {
    bash -c '. "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rgpuctl "$2"; printf "%s\\n" "${COMPREPLY[@]}"' \
        sh "$TOP/admin-cli/rgpuctl.bash-completion" "$@"
}
is "$(complete_words "$ctl" mode G)" "$("$ctl" gpus --json | while read -r gpu; do at uuid <<<"$gpu"; done)" \
    "completion finds GPUs whose model has spaces in its name"
is "$(complete_words "$ctl" drain b)" box1 "and boxes"
is "$(complete_words "$ctl" revoke L)" "$lease" "and leases"
is "$(complete_words "$ctl" show L) $(complete_words "$ctl" show b)" "$lease box1" "and for show all of them"
is "$(complete_words "$ctl" drain box1 --rea)" --reason "and the option for a reason"
like "$("$ctl" boxes)" ' shm,vm,tcp +' "a box without an RDMA device does not show that transport"

ok "drain a box" "$ctl" drain box1
like "$("$ctl" boxes)" '^box1 +draining' "which shows"
"$ctl" drain --wait box1 &
drainer=$!
ok "revoke" "$ctl" revoke "$lease"
ok "drain --wait returns when the box is idle" wait "$drainer"
like "$("$ctl" boxes)" '^box1 +drained' "drained"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{}]}}')" busy "nothing is granted there"
ok "undrain" "$ctl" undrain box1
lease=$(take '{}')
ok "drain --force --wait ends what holds it" "$ctl" drain --force --wait box1
like "$("$ctl" leases --state ended)" "^$lease +ended .* drained by force" "and the lease says why"
"$ctl" undrain box1

gpu=$("$ctl" gpus --json | head -1 | at uuid)
ok "mode by UUID" "$ctl" mode "$gpu" shared
lease=$(take '{"mode": "shared", "memory": 1000000}')
like "$("$ctl" leases)" "^$lease +granted .* box1:0\\*0.0G" "a share is granted"
is "$(status_of "$ctl" mode box1:0 exclusive)" 1 "the mode of a GPU in use stays"
like "$(cat "$TMP/out")" 'drain it first' "and one is told what to do"
"$ctl" mode --wait box1:0 exclusive &
changer=$!
await "the drain" sh -c "'$ctl' gpus | grep -q draining"
"$ctl" revoke "$lease"
ok "mode --wait changes it once idle" wait "$changer"
like "$("$ctl" gpus)" '^box1 +0 .* free +exclusive' "and puts it back into service"

usage=$("$ctl" usage --json --from 1d)
is "$(at user <<<"$usage")" "$(id -un)" "usage, by user"
[ "$(at leases <<<"$usage")" -ge 2 ] || fail "with his leases"
is "$("$ctl" usage --from 2020-01-01 --to 2020-01-02T12:30 --json)" "" "nobody had anything then"
is "$(status_of "$ctl" usage --from yesterday)" 2 "a time that is none"
is "$(status_of "$ctl" usage --user nobody-of-this-name)" 2 "a user who is none"
python3 - "$BROKER_DIR/pool.sqlite" <<'END' # two hours of two GPUs around New Year 2021, after half an hour of waiting
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
(model,) = db.execute("SELECT id FROM leases WHERE state = 'ended' AND granted > 0 AND (SELECT count(*) FROM holds WHERE lease = id) = 2 LIMIT 1").fetchone()
db.execute("UPDATE leases SET created = 1609455600, granted = 1609457400, ended = 1609464600 WHERE id = ?", (model,))
db.commit()
END
usage=$("$ctl" usage --json --from 2020-12-01 --to 2021-02-01)
is "$(at gpu_hours <<<"$usage") $(at waited_seconds <<<"$usage")" "4.0 1800" "hours of GPUs and of waiting"
like "$("$ctl" usage --from 2020-12-01 --to 2021-02-01 --format user,gpu-hours)" "^$(id -un) +4.0" "as a table"
winter=(usage --from 2020-11-01 --to 2021-03-01)
is "$(TZ=UTC "$ctl" "${winter[@]}" --monthly --format month,gpu-hours | tr -s ' \n' '  ')" "MONTH GPU-HOURS 2020-12 1.0 2021-01 3.0 " "by month"
is "$("$ctl" "${winter[@]}" --by lease --sort -idle-hours --format user,job,idle-hours | tr -s ' ' | sed -n 2p | sed 's/ *$//')" "$(id -un) a job 4.0" \
    "leases by how long their GPUs were idle, and whose"
is "$("$ctl" "${winter[@]}" --by lease --csv --format job,gpu-hours,waited,estimated | tr -d '\r' | tr '\n' ' ')" \
    "JOB,GPU-HOURS,WAITED,ESTIMATED a job,4,1800,no " "as CSV, with whole numbers"

"$ctl" events --lines 100 >"$TMP/events"
like "$(cat "$TMP/events")" 'gpu.mode .*by="root" \{"mode":"shared"\}' "events, with the names of users"
like "$(cat "$TMP/events")" 'lease.granted .*"user":"'"$(id -un)"'"' "also of those that have leases"
start follower "$ctl" events --follow --lines 1
await_line follower gpu.undrained
lease=$(take '{}')
ok "events --follow" await_line follower "lease.granted .*lease=$lease"
"$ctl" revoke "$lease"

api POST /v1/leases '{"request": {"gpus": [{}]}, "job": "a \"b\", c"}' >/dev/null
is "$("$ctl" leases --csv --format job --only 'job=a ?b*' | tr -d '\r' | tail -n 1)" '"a ""b"", c"' "a field with commas and quotes"
"$ctl" revoke "$(api GET '/v1/leases?state=granted' | at leases.0.id)"

# ---- the weekly report ----
mkdir "$TMP/reports" "$TMP/path"
sed "s|@BINDIR@|$BUILD/bin|" "$TOP/systemd/rgpu-usage-report.in" >"$TMP/report"
printf '#!/bin/sh\ncat >"%s"\n' "$TMP/mail" >"$TMP/path/sendmail"
chmod +x "$TMP/report" "$TMP/path/sendmail"
report() { env STATE_DIRECTORY="$TMP/reports" PATH="$TMP/path:$PATH" "$@" "$TMP/report"; }
ok "a report" report
is "$(find "$TMP/reports" -type f | wc -l) $(ls "$TMP/mail" 2>/dev/null)" "1 " "is a file, and no mail"
like "$(cat "$TMP"/reports/*)" "^$(id -un) +[1-9]" "with the users of the week"
like "$(cat "$TMP"/reports/*)" '^L[0-9a-z]+ .* a job ' "and leases by name"
ok "with an address" report MAIL_TO=hall@example.org
like "$(cat "$TMP/mail")" '^To: hall@example.org' "it is mailed"
is "$(sed '1,/^$/d' "$TMP/mail")" "$(cat "$TMP"/reports/*)" "as it is in the file"
fails "without the broker" report RGPU_BROKER=unix:"$TMP/nobody"
is "$(find "$TMP/reports" -type f | wc -l)" 1 "there is none that is half"

is "$("$ctl" box-key box1)" "$(cat "$TMP/box1.boxkey")" "box-key"
is "$(status_of "$ctl" gone box1)" 1 "a box that is there is not gone"

# ---- use by leases that are no longer kept: an hour and a half of two GPUs, 40 days ago, half an hour of it before midnight ----
midnight=$(($(date +%s) / 86400 * 86400 - 40 * 86400))
past() { "$ctl" usage --json --from "$(date -d "@$(($midnight + $1))" +%FT%T)" --to "$(date -d "@$(($midnight + $2))" +%FT%T)" "${@:3}"; }
python3 - "$BROKER_DIR/pool.sqlite" "$midnight" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
midnight = int(sys.argv[2])
(lease,) = db.execute("SELECT id FROM leases WHERE ended = 1609464600").fetchone()
db.execute("UPDATE leases SET created = ?1 - 3600, granted = ?1 - 1800, ended = ?1 + 3600, ticket_until = 0 WHERE id = ?2", (midnight, lease))
for hour, busy in ((midnight // 3600 - 1, 600000), (midnight // 3600, 1200000)):
    db.execute("INSERT OR REPLACE INTO busy_hours (lease, hour, milliseconds, bytes_in, bytes_out) VALUES (?, ?, ?, 1000, 50)", (lease, hour, busy))
db.commit()
END
all=$(past -86400 86400) before=$(past -86400 0 | at gpu_hours) after=$(past 0 86400 | at busy_gpu_hours)
is "$(at gpu_hours <<<"$all") $(at busy_gpu_hours <<<"$all") $(at bytes_in <<<"$all") $(at waited_seconds <<<"$all")" "3.0 0.5 2000 1800" "what a lease has had"
stop "$BROKER_PID"
start_broker --away-after 3s
ok "the lease is no longer kept" await "its end" eval '[ -z "$(past -86400 86400 --by lease)" ]'
is "$(past -86400 86400)" "$all" "what its user has had is"
is "$(past -86400 0 | at gpu_hours) $(past 0 86400 | at busy_gpu_hours)" "$before $after" "by the day"
is "$(past 86400 172800)" "" "and in no other time"
await "the box" box_is box1 up
lease=$(take '{}')
stop "$BOX_PID" KILL
await "the box's absence" sh -c "'$ctl' boxes | grep -q 'box1 *away'"
is "$(status_of "$ctl" health)" 1 "health says no while a box is away"
like "$(cat "$TMP/out")" ' box-away ' "and not that all is ok"
await "the loss" lease_is "$lease" lost
like "$("$ctl" leases)" "^$lease +lost" "its lease is lost"
ok "gone --remove" "$ctl" gone --remove box1
is "$("$ctl" boxes --json)" "" "the box is forgotten"
ok "and its lease is over" lease_is "$lease" ended

is "$(status_of "$ctl" revoke Lnone)" 1 "an unknown lease is 1"
is "$(status_of "$ctl" boxes --colour)" 2 "an unknown option is 2"
is "$(status_of "$ctl" mode box1:0)" 2 "a missing argument is 2"
is "$(status_of "$ctl" boxes --broker "unix:$TMP/nobody")" 3 "nobody there is 3"
ok "the invariants hold" invariants --idle
done_testing
