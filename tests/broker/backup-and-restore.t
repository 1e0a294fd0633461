#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A copy of the database taken while the broker works; what is wrong with one is named; a copy that is put
# in place of a lost database goes on from its moment, and nothing is granted twice.
. "$(dirname "$0")/broker.sh"

brokerd=$BUILD/bin/rgpu-brokerd
start_broker
start_pool_box box1
take() { api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}'; }
first=$(take)
( while api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}}' >/dev/null 2>&1 || [ ! -e "$TMP/enough" ]; do :; done ) &
busy=$!
ok "a copy is made while the broker runs" "$brokerd" --state-dir "$BROKER_DIR" --backup "$TMP/copy"
touch "$TMP/enough"
wait $busy || true
is "$(stat -c %a "$TMP/copy")" 600 "for its user alone"
[ ! -e "$TMP/copy-wal" ] && [ ! -e "$TMP/copy.part" ] || fail "it is one file"
ok "it is sound" "$brokerd" --state-dir "$BROKER_DIR" --check --database "$TMP/copy"
ok "and holds what must hold" python3 "$TOP/tests/broker/check_invariants.py" "$TMP/copy"
ok "so does the database itself, in use" "$brokerd" --state-dir "$BROKER_DIR" --check
is "$( ("$brokerd" --state-dir "$BROKER_DIR" --backup "$TMP/none/copy" >/dev/null 2>&1 && echo yes) || echo no)" no "where there is no place for it"

broken() { # TEXT SQL: a copy that somebody has changed is found out
    cp "$TMP/copy" "$TMP/broken"
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = '"'trigger'"'").fetchall(): db.execute("DROP TRIGGER " + name)
db.executescript(sys.argv[2])' "$TMP/broken" "$2"
    like "$("$brokerd" --state-dir "$BROKER_DIR" --check --database "$TMP/broken" 2>&1 || true)" "$1" "$1"
}
id=$(at lease.id <<<"$first")
broken 'holds nothing' "UPDATE holds SET held = 0"
broken 'is ended and holds GPUs' "UPDATE leases SET state = 'ended' WHERE id = '$id'"
broken 'schema=99 is none' "PRAGMA user_version = 99"
head -c 8000 "$TMP/copy" >"$TMP/torn"
like "$("$brokerd" --state-dir "$BROKER_DIR" --check --database "$TMP/torn" 2>&1 || true)" 'malformed|database disk image' "half a copy"
like "$("$brokerd" --state-dir "$BROKER_DIR" --check --database "$TMP/absent" 2>&1 || true)" 'unable to open' "none at all"

# The restore, as docs/admin/pool.md has it; database-restored.t shows what boxes make of what is lost.
restore() { "$brokerd" --state-dir "$BROKER_DIR" --restore "$@"; }
second=$(take)
fails "nothing is restored while a broker runs" restore "$TMP/copy"
like "$(cat "$TMP/ok.out")" 'stop the broker first' "with what to do"
stop "$BROKER_PID" KILL
fails "a copy that is damaged is not restored" restore "$TMP/torn"
fails "nor one that breaks promises" restore "$TMP/broken"
fails "nor none at all" restore "$TMP/absent"
ok "the database is as it was" invariants
grep -q "$(at lease.id <<<"$second")" "$BROKER_DIR"/pool.sqlite* || fail "with what came after the copy"
RGPU_FAULT=restore.before_rename:kill restore "$TMP/copy" >/dev/null 2>&1 && fail "it is killed"
ok "a restore that is killed before its end leaves the database" invariants
if [ "$(id -u)" = 0 ]; then chown 2000100000:2000100001 "$BROKER_DIR"; fi
ok "once the broker is stopped, the copy is restored" restore "$TMP/copy"
like "$(cat "$TMP/ok.out")" "checked, and in place as $BROKER_DIR/pool.sqlite, up to event [0-9]*; owner" "which it says"
like "$(cat "$TMP/ok.out")" 'epoch [0-9]* begins' "with the new epoch"
is "$(stat -c '%u:%g %a' "$BROKER_DIR/pool.sqlite" "$BROKER_DIR/lock" | sort -u)" "$(stat -c '%u:%g' "$BROKER_DIR") 600" \
    "it belongs to the owner of the directory"
is "$(ls "$BROKER_DIR" | grep -E 'restored|-wal|part' | grep -v replaced)" "" "nothing of the old database or the work is left in its way"
ok "the database before is kept" python3 "$TOP/tests/broker/check_invariants.py" "$BROKER_DIR/replaced.sqlite"
if [ "$(id -u)" = 0 ]; then chown -R 0:0 "$BROKER_DIR"; fi
start_broker
await "the box" box_is box1 up
is "$(api GET "/v1/leases/$id" | at lease.state)" granted "what the copy knows goes on"
is "$(error_code GET "/v1/leases/$(at lease.id <<<"$second")")" not-found "what came after it is over"
third=$(take)
ok "its GPU is granted anew" lease_is "$(at lease.id <<<"$third")" granted
ok "the invariants hold" invariants
done_testing
