#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A database of every earlier schema is taken over: nothing is lost, and keys have their owners.
. "$(dirname "$0")/broker.sh"
BROKER_DIR=$TMP/state
api_of() { api GET "/v1/leases/$1" | at "lease.$2"; }
take() { api POST /v1/leases "$1"; }

for file in "$TOP"/tests/broker/schemas/*.sql; do
    schema=$(basename "$file" .sql)
    rm -rf "$BROKER_DIR"
    mkdir -p "$BROKER_DIR"
    python3 - "$file" "$BROKER_DIR/pool.sqlite" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[2])
db.executescript(open(sys.argv[1]).read())
db.close()
PY
    start_broker --history 1000000h --user-leases=yes
    ok "schema $schema: the rules of the pool hold" invariants
    is "$(api_of L1ng4ezq6xqn092p state)" granted "schema $schema: a lease lives"
    is "$(api_of L1ng4ezq6xqn092p gpus.0.gpu)" GPU-gpu01-2 "schema $schema: on its GPU"
    is "$(api_of L1ng4ezqkdqrxs57 state)" ended "schema $schema: one that has ended is known"
    is "$(api_of L1ng4ezqkdqrxs57 gpus.0.gpu)" GPU-gpu01-0 "schema $schema: with what it held"
    is "$(api_of L1ng4ezr5nsnpttw state)" queued "schema $schema: who waited waits"
    is "$(take '{"key": "slurm/c/1/1", "owner": 1000, "request": {"gpus": [{}]}}' | at lease.id)" \
        L1ng4ezq6xqn092p "schema $schema: a scheduler's key gives its lease"
    is "$(error_code POST /v1/leases '{"key": "never", "owner": 0, "request": {"gpus": [{}]}}')" ended \
        "schema $schema: a key that was released early stays so"
    is "$(take '{"key": "mine", "owner": 1002, "queue": true, "request": {"gpus": [{"mode": "shared", "memory": 1073741824}]}}' | at lease.state)" \
        queued "schema $schema: a user's key is not the scheduler's"
    is "$(python3 -c "
import sqlite3
db = sqlite3.connect('$BROKER_DIR/pool.sqlite')
print(db.execute('SELECT count(*) FROM events WHERE sequence <= 12').fetchone()[0])")" 12 "schema $schema: the events are there"
    stop "$BROKER_PID"
done
current=$(python3 -c "import sqlite3; print(sqlite3.connect('$BROKER_DIR/pool.sqlite').execute('PRAGMA user_version').fetchone()[0])")
is "$(ls -v "$TOP/tests/broker/schemas" | tr '\n' ' ')" "$(seq -f %g.sql 1 $((current - 1)) | tr '\n' ' ')" "a database of each earlier schema is here"
done_testing
