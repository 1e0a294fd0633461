# SPDX-License-Identifier: BSD-3-Clause
# Starting rgpu-brokerd and boxes that belong to its pool, for the tests in this folder.
. "$(dirname "${BASH_SOURCE[0]}")/../daemon/stub.sh"

brokers=0

# start_broker [VARIABLE=value...] [rgpu-brokerd arguments]: sets BROKER (host:port), BROKER_PID,
# BROKER_LOG and BROKER_SOCKET. State and keys stay in $TMP, so a second call goes on where the
# first was killed, at the same address. BROKER_PREFIX is a command in front, such as nsenter.
start_broker() {
    launch_broker "$@"
    await_broker
}

launch_broker() {
    local variables=()
    while [[ ${1:-} == [A-Z]*=* ]]; do variables+=("$1"); shift; done
    brokers=$((brokers + 1)) BROKER_NAME=broker$brokers
    BROKER_DIR=${BROKER_DIR:-$TMP/state} BROKER_SOCKET=$TMP/broker.sock
    mkdir -p "$BROKER_DIR"
    [ -e "$TMP/cluster.key" ] || "$BUILD/bin/rgpu-brokerd" --make-key "$TMP/cluster.key" >/dev/null
    make_shared_keys
    BROKER_LOG=$TMP/$BROKER_NAME.log
    start "$BROKER_NAME" env "${variables[@]}" ${BROKER_PREFIX:-} "$BUILD/bin/rgpu-brokerd" \
        --listen "${BROKER:-127.0.0.1:0}" --socket "$BROKER_SOCKET" --state-dir "$BROKER_DIR" \
        --cluster-key "$TMP/cluster.key" --key-file "$TMP/api.keys" --munge no \
        --synchronous normal --heartbeat 1s "$@"
    BROKER_PID=$PID
}

await_broker() {
    if [ -z "${BROKER:-}" ]; then
        await_line "$BROKER_NAME" '^listening on' || bail "the broker did not start"
        BROKER=${LINE##* }
    fi
    await_line "$BROKER_NAME" 'is ready' || bail "the broker did not start"
}

# One key per role: $TMP/ROLE.key for those who ask, all of them in $TMP/api.keys for the broker.
make_shared_keys() {
    local role number=1
    [ ! -e "$TMP/api.keys" ] || return 0
    for role in admin scheduler; do
        printf '%s %064d\n' "$role" "$number" >"$TMP/$role.key"
        number=$((number + 1))
    done
    cat "$TMP/admin.key" "$TMP/scheduler.key" >"$TMP/api.keys"
    chmod 600 "$TMP"/*.key "$TMP/api.keys"
}

BROKER_API=$BUILD/tests/broker-api # of this release, also where BUILD is another one's
# api METHOD PATH [JSON]: prints the answer; status 1 unless the broker's status was below 300.
api() { "$BROKER_API" "$BROKER_SOCKET" "$@"; }
# The value at a path such as lease.gpus.0.box of the JSON on standard input.
at() { "$BROKER_API" --at "$1"; }
error_code() { (api "$@" || true) | at error.code; }

# start_pool_box [VARIABLE=value...] NAME [rgpud arguments]: a real rgpud with stub workers, in the broker's pool.
start_pool_box() {
    local variables=()
    while [[ ${1:-} == [A-Z]*=* ]]; do variables+=("$1"); shift; done
    local name=$1
    shift
    mkdir -p "$TMP/box-$name"
    [ -e "$TMP/$name.boxkey" ] || {
        api GET "/v1/boxes/$name/key" | at keys >"$TMP/$name.boxkey"
        chmod 600 "$TMP/$name.boxkey"
    }
    start_stub_box "${variables[@]}" --name "$name" --auth ticket --key-file "$TMP/$name.boxkey" \
        --broker "$BROKER" --state-dir "$TMP/box-$name" "$@"
    await "box $name in the pool" box_is "$name" up
}

# start_cuda_box NAME [rgpud arguments]: a real box with two software GPUs, in the broker's pool.
start_cuda_box() {
    local name=$1
    shift
    mkdir -p "$TMP/box-$name"
    api GET "/v1/boxes/$name/key" | at keys >"$TMP/$name.boxkey"
    chmod 600 "$TMP/$name.boxkey"
    start_box --name "$name" --auth ticket --key-file "$TMP/$name.boxkey" --broker "$BROKER" \
        --state-dir "$TMP/box-$name" "$@"
    await "box $name in the pool" box_is "$name" up
}

box_is() { [ "$(api GET "/v1/boxes/$1" | at box.state)" = "$2" ]; }
lease_is() { [ "$(api GET "/v1/leases/$1" | at lease.state)" = "$2" ]; }
invariants() { python3 "$TOP/tests/broker/check_invariants.py" "$BROKER_DIR/pool.sqlite" "$@"; }
