#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A full disk, a locked and a damaged database: a clear error, and no grant is lost or made up.
. "$(dirname "$0")/broker.sh"
requires prlimit

start_broker
start_pool_box box1
take='{"request": {"gpus": [{}]}, "ticket": true}'
lease=$(api POST /v1/leases "$take" | at lease.id)

prlimit --pid "$BROKER_PID" --fsize=4096:
is "$(error_code POST /v1/leases "$take")" disk-full "a full disk refuses a grant"
is "$(error_code DELETE "/v1/leases/$lease")" disk-full "and a release"
is "$(error_code POST /v1/boxes/box1/drain '{}')" disk-full "and a drain"
is "$(api GET /v1/leases | at leases.0.id)" "$lease" "what was granted is still there"
is "$(api GET /v1/boxes/box1 | at box.drained)" False "what was refused is not"
is "$(api GET /v1/gpus | grep -o '"state":"free"' | wc -l)" 1 "and no GPU has gone"
logs "$BROKER_LOG" 'error: database: .*' "the log says why"
prlimit --pid "$BROKER_PID" --fsize=unlimited:
other=$(api POST /v1/leases "$take" | at lease.id)
ok "with room again it grants" lease_is "$other" granted
ok "the invariants hold" invariants

python3 - "$BROKER_DIR/pool.sqlite" "$TMP/locker" <<'PY' &
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
os.mkfifo(sys.argv[2])
open(sys.argv[2]).read()
PY
await "the lock" test -p "$TMP/locker"
is "$(error_code DELETE "/v1/leases/$lease")" database-busy "a locked database refuses a change"
ok "and shows what there is" lease_is "$lease" granted
echo >"$TMP/locker"
wait $!
ok "without the lock it goes on" api DELETE "/v1/leases/$lease"

"$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --socket "$TMP/second" --listen 127.0.0.1:0 --munge no >"$TMP/out" 2>&1 &&
    fail "two brokers on one database" || pass "a second broker on the same database does not start"
like "$(cat "$TMP/out")" 'in use by another broker' "and says why"

await "the end" lease_is "$lease" ended
stop "$BROKER_PID"
cp "$BROKER_DIR/pool.sqlite" "$TMP/copy"
damaged() {
    rm -f "$BROKER_DIR"/pool.sqlite*
    cp "$1" "$BROKER_DIR/pool.sqlite"
    "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --socket "$TMP/second" --listen 127.0.0.1:0 --munge no >"$TMP/out" 2>&1
}
pages=$(($(stat -c %s "$TMP/copy") / 4096))
cp "$TMP/copy" "$TMP/damaged"
for page in $(seq 2 $((pages - 1))); do
    printf 'damage damage damage damage' | dd of="$TMP/damaged" bs=1 seek=$((page * 4096)) conv=notrunc status=none
done
fails "a database with damaged pages is refused" damaged "$TMP/damaged"
like "$(cat "$TMP/out")" 'damaged; restore it from a copy' "with what to do"
cp "$TMP/copy" "$TMP/damaged"
page=$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT rootpage FROM sqlite_schema WHERE name = \"leases_ended\"").fetchone()[0])' "$TMP/damaged")
printf 'damage damage damage damage' | dd of="$TMP/damaged" bs=1 seek=$(((page - 1) * 4096)) conv=notrunc status=none
fails "one with a damaged page that no lease of now is read from too" damaged "$TMP/damaged"
like "$(cat "$TMP/out")" 'damaged; restore it from a copy' "with the same words"
head -c 10000 /dev/urandom >"$TMP/damaged"
fails "something else in its place too" damaged "$TMP/damaged"
head -c 6000 "$TMP/copy" >"$TMP/damaged"
fails "half a database too" damaged "$TMP/damaged"
rm -f "$BROKER_DIR"/pool.sqlite*
cp "$TMP/copy" "$BROKER_DIR/pool.sqlite"
start_broker
ok "with the copy it goes on" await "the box" box_is box1 up
ok "as it was" lease_is "$other" granted
ok "the invariants hold" invariants
done_testing
