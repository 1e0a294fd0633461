#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Three brokers without shared storage, each beside its member of etcd. Users take and release GPUs all the time, while the leader is
# killed, stopped and cut off: another takes over with each grant that was answered, none twice, and a minority grants nothing.
# seconds: 300
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/replicated.sh"

make_replicated_files
for n in 1 2 3; do start_member $n; done
for n in 1 2 3; do await "member $n" member_answers $n || bail "etcd does not start"; done
for n in 1 2 3; do start_replica $n; done
await "a leader" find_leader || bail "no broker leads"
for n in $(others "$LEADER"); do await "broker $n waits" test_state "$n" waiting || bail "broker $n does not wait"; done

mkfifo "$TMP/orders"
exec {orders}<>"$TMP/orders"
start users sh -c "exec python3 -B '$TOP/tests/broker/replicated_users.py' '$TMP/replica1.sock' '$TMP/replica2.sock' '$TMP/replica3.sock' <'$TMP/orders'"
await_line users '^ready' || bail "no users"
order() { echo "$1" >&$orders; await_line users "$2"; }
answers() { order count '^answers=' && COUNT=${LINE#answers=}; }
# More answers than before: users are served.
more_answers() { local before=$1; answers && [ "$COUNT" -gt $((before + 20)) ]; }
served() { local before; answers && before=$COUNT && await "users are served" more_answers "$before"; }
settled() { order settle '^compared=[1-9]' && ! grep violation "$TMP/users.log"; }
go_on() { order go '^gone on' || bail "users do not go on"; }

# takes_over WHAT: another broker than LEADER leads, with all that users were answered.
takes_over() {
    local old=$LEADER
    ok "$1: another broker takes over" await "a leader" find_leader $(others "$old")
    ok "$1: users are served" served
    ok "$1: each grant that was answered is there" settled
    diag "$1: the longest time without an answer was ${LINE#*longest=} s"
    go_on
}
comes_back() { # NUMBER
    start_replica "$1"
    await "broker $1" caught_up "$1" || bail "broker $1 does not follow"
    ok "each grant that was answered is still there" settled
    ok "broker $1 has what the leader has" await "broker $1" same_as_leader "$1"
    go_on
}

served || bail "users are not served"
ok "the leader has what users have" settled
for n in $(others "$LEADER"); do ok "broker $n has what the leader has" await "broker $n" same_as_leader "$n"; done
go_on

killed=$LEADER
stop "${BROKER_OF[$killed]}" KILL
takes_over "leader killed"
comes_back "$killed"

stopped=$LEADER
kill -STOP "${BROKER_OF[$stopped]}"
takes_over "leader stopped"
before=$(position_of "$LEADER")
kill -CONT "${BROKER_OF[$stopped]}"
ok "one that wakes ends" await "its end" ended "${BROKER_OF[$stopped]}"
like "$(replica_log "$stopped")" 'does not lead any more' "and says why"
ok "the log goes on with the new leader" served
[ "$(position_of "$LEADER")" -gt "$before" ] || fail "the position has grown"
comes_back "$stopped"

# The leader's host is lost, with its member of etcd.
lost=$LEADER
stop "${MEMBER[$lost]}" KILL
stop "${BROKER_OF[$lost]}" KILL
takes_over "leader's host lost"
start_member "$lost"
ok "the host's etcd is back" await "etcd" member_answers "$lost"
comes_back "$lost"

# A leader without a majority: two members of etcd stand still.
cut=$LEADER
for n in $(others "$cut"); do kill -STOP "${MEMBER[$n]}"; done
ok "a leader without a majority ends" await "its end" ended "${BROKER_OF[$cut]}"
like "$(replica_log "$cut")" 'no majority of etcd answers' "and says why"
for n in $(others "$cut"); do ok "broker $n says so" await "its health" test_state "$n" no-majority; done
answers
before=$COUNT
one=$(others "$cut" | head -n1)
is "$(BROKER_SOCKET=$TMP/replica$one.sock error_code POST /v1/leases '{"request": {"gpus": [{"count": 1}]}}')" no-majority "and grants nothing"
like "$("$BUILD/bin/rgpuctl" broker status --broker "unix:$TMP/replica$one.sock" 2>&1)" 'no majority' "rgpuctl broker status says so"
like "$(metrics_of "$one")" '^rgpu_storage_ok 0' "and so do its metrics"
answers
[ "$COUNT" -le $((before + 6)) ] || fail "users get no answers (but those under way)"
for n in $(others "$cut"); do kill -CONT "${MEMBER[$n]}"; done
ok "with a majority a broker leads again" await "a leader" find_leader 1 2 3
ok "users are served" served
ok "each grant that was answered is there" settled
go_on
[ "$cut" = "$LEADER" ] || comes_back "$cut"

# Other ways to come back.
waiting=$(others "$LEADER" | head -n1)
stop "${BROKER_OF[$waiting]}"
cp "$TMP/state$waiting/pool.sqlite" "$TMP/old.sqlite"
rm "$TMP/state$waiting"/pool.sqlite*
comes_back "$waiting"
ok "users go on" served
stop "${BROKER_OF[$waiting]}" KILL
rm "$TMP/state$waiting"/pool.sqlite*
cp "$TMP/old.sqlite" "$TMP/state$waiting/pool.sqlite"
comes_back "$waiting"
stop "${BROKER_OF[$waiting]}"
python3 - "$TMP/state$waiting/pool.sqlite" <<'END'
import sqlite3, sys
page = sqlite3.connect(sys.argv[1]).execute("SELECT rootpage FROM sqlite_schema WHERE name = 'leases_ended'").fetchone()[0]
with open(sys.argv[1], "r+b") as file:
    file.seek((page - 1) * 4096)
    file.write(b"damage" * 8)
END
comes_back "$waiting"
like "$(replica_log "$waiting")" 'integrity check: ' "as a damaged database is replaced"
stop "${BROKER_OF[$waiting]}" KILL
# It led once and wrote what the log never got.
python3 -c "
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute('UPDATE replication SET number = number - 1, term = 1')
database.execute(\"INSERT INTO events (time, kind, actor, detail) VALUES (1, 'never', 'x', '{}')\")
database.commit()" "$TMP/state$waiting/pool.sqlite"
comes_back "$waiting"
like "$(replica_log "$waiting")" 'the database is a snapshot of the log' "a database that the log does not know is replaced"

status=$("$BUILD/bin/rgpuctl" broker status --broker "unix:$TMP/replica$waiting.sock")
is "$(grep -c waiting <<<"$status")" 2 "rgpuctl broker status shows two that wait"
is "$(grep -c leading <<<"$status")" 1 "and the leader"
like "$(metrics_of "$waiting")" '^rgpu_leading 0' "a broker that waits has metrics"
ok "a client with all addresses finds the leader" env RGPU_BROKER="$ALL" RGPU_BROKER_KEY="$TMP/admin.key" "$BUILD/bin/rgpuctl" boxes

leader=$LEADER
stop "${BROKER_OF[$leader]}"
takes_over "leader is ended by an administrator"
for n in $(others "$leader"); do stop "${BROKER_OF[$n]}"; done
for n in $(others "$leader"); do BROKER_DIR=$TMP/state$n; ok "the invariants hold at broker $n" invariants; done
is "$(grep -c violation "$TMP/users.log" || true)" 0 "no violation in all of that"
done_testing
