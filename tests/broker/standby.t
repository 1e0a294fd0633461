#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A second broker waits while the first has the state directory, and takes over when that dies: leases and
# sessions go on, boxes and clients find it by themselves, nothing is granted twice, and a first one that
# comes back to life ends before it changes anything.
. "$(dirname "$0")/broker.sh"

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
start_broker
first=$BROKER first_pid=$BROKER_PID
second=127.0.0.1:$(port)
standby() { # NAME ADDRESS: sets PID
    start "$1" "$BUILD/bin/rgpu-brokerd" --standby=yes --listen "$2" --socket "$TMP/$1.sock" \
        --state-dir "$BROKER_DIR" --cluster-key "$TMP/cluster.key" --key-file "$TMP/api.keys" --munge no \
        --synchronous normal --heartbeat 1s
}
like "$("$BUILD/bin/rgpu-brokerd" --listen 127.0.0.1:0 --socket "" --state-dir "$BROKER_DIR" --munge no 2>&1 || true)" \
    'in use by another broker; standby = yes waits' "without the setting a second one is refused"
standby second "$second"
second_pid=$PID
await_line second 'stands by' || bail "the second does not wait"
start_pool_box box1 --broker "$first,$second"
lease=$(api POST /v1/leases '{"request": {"gpus": [{"count": 1}]}, "ticket": true, "lifetime": 3600}')
id=$(at lease.id <<<"$lease")
epoch() { python3 -c "import sqlite3; print(sqlite3.connect('$BROKER_DIR/pool.sqlite').execute('SELECT max(epoch) FROM epochs').fetchone()[0])"; }
before=$(epoch)

stop "$first_pid" KILL
ok "the first dies, the second takes over" await_line second 'is ready'
BROKER_SOCKET=$TMP/second.sock
ok "the box finds it" await "the box" box_is box1 up
is "$(api GET "/v1/leases/$id" | at lease.state)" granted "the lease lives"
[ "$(epoch)" -gt "$before" ] || fail "a new epoch has begun"
like "$(api GET '/v1/events?after=-50')" '"kind":"broker.taken-over"' "which is an event"
like "$(RGPU_TICKET=$(at ticket <<<"$lease") "$CLIENT" "$BOX" echo hi)" 'echoed' "its ticket of the epoch before opens a session"
other=$(api POST /v1/leases '{"request": {"gpus": [{"count": 1}]}, "ticket": true}')
is "$(error_code POST /v1/leases '{"request": {"gpus": [{"count": 1}]}}')" busy "its GPU is granted to nobody else"
ok "a client with both addresses finds it" env RGPU_BROKER="$first,$second" RGPU_BROKER_KEY="$TMP/admin.key" "$BUILD/bin/rgpuctl" boxes

# Storage that gives the lock away while its holder is cut off: the file is another one.
kill -STOP "$second_pid"
rm "$BROKER_DIR/lock"
standby third "$first"
await_line third 'is ready' || bail "the third does not start"
kill -CONT "$second_pid"
BROKER_SOCKET=$TMP/third.sock
ok "one that has lost the directory while it slept ends" await "its end" ended "$second_pid"
like "$(cat "$TMP"/second*.log)" 'another broker has taken over' "and says why"
ok "the box finds the third" await "the box" box_is box1 up
is "$(api GET "/v1/leases/$id" | at lease.state)" granted "the leases live"
is "$(api GET "/v1/leases/$(at lease.id <<<"$other")" | at lease.state)" granted "both of them"
ok "the invariants hold" invariants
done_testing
