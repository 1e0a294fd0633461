# SPDX-License-Identifier: BSD-3-Clause
# Three members of etcd and three brokers on this host, for tests of replication. After broker.sh.
# Arrays by number (1 to 3): ADDRESS, BROKER_OF and MEMBER are of brokers, their processes and etcd's.
command -v etcd >/dev/null || skip_all "etcd is not there (Debian: etcd-server)"

free_ports() { # COUNT
    python3 -c '
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])' "$1"
}
declare -A ADDRESS BROKER_OF MEMBER RUN
read -r -a ports < <(free_ports 9)
for n in 1 2 3; do ADDRESS[$n]=127.0.0.1:${ports[$((n + 5))]} RUN[$n]=0; done
ALL=${ADDRESS[1]},${ADDRESS[2]},${ADDRESS[3]}

# Short elections, as docs/admin/pool.md has them: they are a part of each take-over after the loss of a host.
start_member() { # NUMBER
    local n=$1 peers=
    for i in 1 2 3; do peers+=${peers:+,}m$i=http://127.0.0.1:${ports[$((i + 2))]}; done
    start "etcd$n" env ETCD_UNSUPPORTED_ARCH="$(uname -m | sed 's/aarch64/arm64/')" etcd --name "m$n" --data-dir "$TMP/etcd$n" \
        --listen-client-urls "http://127.0.0.1:${ports[$((n - 1))]}" --advertise-client-urls "http://127.0.0.1:${ports[$((n - 1))]}" \
        --listen-peer-urls "http://127.0.0.1:${ports[$((n + 2))]}" --initial-advertise-peer-urls "http://127.0.0.1:${ports[$((n + 2))]}" \
        --initial-cluster "$peers" --election-timeout 500
    MEMBER[$n]=$PID
}
member_answers() { web "http://127.0.0.1:${ports[$(($1 - 1))]}/health" 2>/dev/null | grep -q true; }

make_replicated_files() {
    [ -e "$TMP/cluster.key" ] || "$BUILD/bin/rgpu-brokerd" --make-key "$TMP/cluster.key" >/dev/null
    make_shared_keys
}

# start_replica NUMBER [rgpu-brokerd arguments]: a broker with a state directory of its own; RUN counts its starts.
start_replica() {
    local n=$1
    mkdir -p "$TMP/state$n"
    RUN[$n]=$((RUN[$n] + 1))
    start "replica$n.${RUN[$n]}" "$BUILD/bin/rgpu-brokerd" --listen "${ADDRESS[$n]}" --socket "$TMP/replica$n.sock" \
        --state-dir "$TMP/state$n" --cluster-key "$TMP/cluster.key" --key-file "$TMP/api.keys" --munge no --heartbeat 1s \
        --replication "http://127.0.0.1:${ports[0]},http://127.0.0.1:${ports[1]},http://127.0.0.1:${ports[2]}" "${@:2}"
    BROKER_OF[$n]=$PID
}
replica_log() { cat "$TMP/replica$1.${RUN[$1]}.log"; }
health_of() { "$BROKER_API" "$TMP/replica$1.sock" GET /healthz 2>/dev/null; }
state_of() { (health_of "$1" || true) | at status 2>/dev/null || true; }

test_state() { [ "$(state_of "$1")" = "$2" ]; }
metrics_of() { "$BROKER_API" "$TMP/replica$1.sock" GET /metrics; }

# find_leader [NUMBER...]: sets LEADER to the one of these brokers that leads, and BROKER_SOCKET.
find_leader() {
    local n
    [ $# -gt 0 ] || set -- 1 2 3
    for n in "$@"; do
        [ "$(state_of "$n")" = ok ] || continue
        LEADER=$n BROKER_SOCKET=$TMP/replica$n.sock BROKER_DIR=$TMP/state$n
        return 0
    done
    return 1
}
others() { for n in 1 2 3; do [ "$n" = "$1" ] || echo "$n"; done; }
position_of() { health_of "$1" | at replication.position; }
caught_up() { [ "$(state_of "$1")" = waiting ] && [ "$(position_of "$1")" -ge "$(($(position_of "$LEADER") - 100))" ]; }
dump_of() { python3 -c "
import sqlite3, sys
print('\n'.join(sqlite3.connect('file:%s?mode=ro' % sys.argv[1], uri=True).iterdump()))" "$TMP/state$1/pool.sqlite"; }
same_as_leader() { [ "$(dump_of "$1")" = "$(dump_of "$LEADER")" ]; }
