#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A broker and its log in etcd over TLS: who has no certificate, or no TLS, is refused; the log is cut behind snapshots; a broker of an
# earlier release does not follow a later one's log; and the lead is given back at an ordinary end. seconds: 240
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/replicated.sh"
requires openssl curl

make_replicated_files
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$TMP/$1.key" 2>/dev/null; }
new_key ca
openssl req -x509 -new -key "$TMP/ca.key" -subj /CN=ca -days 2 -out "$TMP/ca.pem" 2>/dev/null
for name in etcd broker; do
    new_key $name
    openssl req -new -key "$TMP/$name.key" -subj "/CN=$name" 2>/dev/null |
        openssl x509 -req -CA "$TMP/ca.pem" -CAkey "$TMP/ca.key" -set_serial "$RANDOM" -days 2 -out "$TMP/$name.pem" \
            -extfile <(echo subjectAltName=IP:127.0.0.1) 2>/dev/null
done
url=https://127.0.0.1:${ports[0]}
start etcd env ETCD_UNSUPPORTED_ARCH="$(uname -m | sed 's/aarch64/arm64/')" etcd --data-dir "$TMP/etcd" --listen-client-urls "$url" \
    --advertise-client-urls "$url" --listen-peer-urls "http://127.0.0.1:${ports[3]}" --cert-file "$TMP/etcd.pem" \
    --key-file "$TMP/etcd.key" --trusted-ca-file "$TMP/ca.pem" --client-cert-auth
etcd_call() { curl -sS --cacert "$TMP/ca.pem" --cert "$TMP/broker.pem" --key "$TMP/broker.key" "$url$1" -d "$2"; }
b64() { printf %s "$1" | base64 -w0; }
await "etcd" etcd_call /v3/maintenance/status '{}' || bail "etcd does not start"

like "$("$BUILD/bin/rgpu-brokerd" --check-config --replication http://10.0.0.1:2379 --state-dir "$TMP" --cluster-key "" 2>&1 || true)" \
    'begin with https://' "an address without TLS is refused"
like "$("$BUILD/bin/rgpu-brokerd" --check-config --replication "$url" --standby yes --state-dir "$TMP" --cluster-key "" 2>&1 || true)" \
    'standby is for a shared state_dir' "and so is standby beside it"
like "$("$BUILD/bin/rgpu-brokerd" --check-config --replication "$url" --replication-key /nowhere --state-dir "$TMP" --cluster-key "" 2>&1 || true)" \
    'replication_key=/nowhere: No such file' "and a file that is not there"
tls=(--replication "$url" --replication-ca "$TMP/ca.pem")
own=(--replication-cert "$TMP/broker.pem" --replication-key "$TMP/broker.key")
start_replica 1 "${tls[@]}"
ok "a broker without a certificate waits, and says that it reaches nothing" await "its health" test_state 1 no-majority
stop "${BROKER_OF[1]}"
start_replica 1 "${tls[@]}" "${own[@]}"
ok "with its certificate it leads" await "a leader" find_leader 1
start_replica 2 "${tls[@]}" "${own[@]}"
ok "another one waits" await "broker 2" test_state 2 waiting

# A box and a client that know the one that waits first.
BROKER=${ADDRESS[2]},${ADDRESS[1]},${ADDRESS[3]}
ok "a box goes on from a broker that waits" start_pool_box gpu1
lease=$(api POST /v1/leases '{"request": {"gpus": [{"count": 1}]}, "ticket": true, "lifetime": 3600}')
export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key
like "$("$BUILD/bin/rgpuctl" leases)" "$(at lease.id <<<"$lease")" "and so does a client"

keys() { etcd_call /v3/kv/range "{\"key\":\"$(b64 "$1")\",\"range_end\":\"$(b64 "$1~")\",\"count_only\":true}" | at count; }
snapshot_at() { etcd_call /v3/kv/range "{\"key\":\"$(b64 /rgpu/snapshot)\"}" | at kvs.0.value | base64 -d | at number; }
first=$(snapshot_at)
# Changes without end, which are what drains and undrains are.
python3 -B - "$TOP/tests/broker" "$BROKER_SOCKET" <<'END' &
import sys, threading
sys.path.insert(0, sys.argv[1])
from pool import Api
def change(number):
    api, path = Api(sys.argv[2]), "/v1/boxes/box%d" % number
    gpu = {"uuid": "GPU-%d" % number, "index": 0, "model": "Fake", "memory": 1 << 30, "mode": "exclusive"}
    api.call("PUT", path, {"instance": "i", "addresses": "127.0.0.1:1", "gpus": [gpu]})
    while True:
        api.call("POST", path + "/drain", {"reason": "to make changes " + "x" * 150})
        api.call("POST", path + "/undrain", {})
threads = [threading.Thread(target=change, args=[i], daemon=True) for i in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
END
changes=$!
newer() { [ "$(snapshot_at)" -gt "$1" ]; }
ok "after many changes there is a snapshot" await "a snapshot" newer "$first"
second=$(snapshot_at)
ok "and after many more another one" await "a snapshot" newer "$second"
kill $changes
wait $changes 2>/dev/null || true
[ "$(keys /rgpu/log/)" -lt "$(position_of 1)" ] || fail "the log is cut: $(keys /rgpu/log/) entries"
is "$(etcd_call /v3/kv/range "{\"key\":\"$(b64 "/rgpu/log/")\",\"range_end\":\"$(b64 "/rgpu/log/$(printf %020d "$second")")\",\"count_only\":true}" | grep -c count)" 0 \
    "nothing is left of it before the snapshot that was replaced"
ok "the broker that waits has followed" await "broker 2" same_as_leader 2
start_replica 3 "${tls[@]}" "${own[@]}"
ok "one that begins now has it all from the snapshot" await "broker 3" same_as_leader 3


stop "${BROKER_OF[1]}" KILL
ok "another one takes over" await "a leader" find_leader 2 3
ok "the box finds it" await "the box" box_is gpu1 up
is "$(api GET "/v1/leases/$(at lease.id <<<"$lease")" | at lease.state)" granted "the lease lives"
like "$(RGPU_TICKET=$(at ticket <<<"$lease") "$CLIENT" "$BOX" echo hi)" 'echoed' "its ticket opens a session"
like "$("$BUILD/bin/rgpuctl" leases)" "$(at lease.id <<<"$lease")" "and a client finds the broker"
start_replica 1 "${tls[@]}" "${own[@]}"
old=$(others "$LEADER" | tail -n1)
await "broker $old" test_state "$old" waiting || bail "broker $old does not wait"

# A broker of a later release has changed the database.
head=$(etcd_call /v3/kv/range "{\"key\":\"$(b64 /rgpu/snapshot)\"}" | at kvs.0.value | base64 -d | sed 's/"schema":[0-9]*/"schema":1000/')
etcd_call /v3/kv/put "{\"key\":\"$(b64 /rgpu/snapshot)\",\"value\":\"$(b64 "$head")\"}" >/dev/null
said() { grep -q 'it follows no more' "$TMP/replica$old.1.log"; }
ok "a broker of an earlier release says that it does not follow" await "the line" said
for n in $(others "$old"); do stop "${BROKER_OF[$n]}"; done
is "$(keys /rgpu/leader)" "" "the lead is given back at an ordinary end"
is "$(state_of "$old")" waiting "and the broker of an earlier release does not take it"
done_testing
