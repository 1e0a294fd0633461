#!/bin/bash
# seconds: 480
# SPDX-License-Identifier: BSD-3-Clause
# Hostile code in a worker (tests/daemon/hostile_driver.c in place of the driver) reads no key, changes no
# state, reaches no other process, opens no connection and starts no program: as root, as an ordinary
# user, and as the units run the box; and none outlives its supervisor. The last part shows that the attempts are real where nothing is
# in their way.
. "$(dirname "$0")/../lib.sh"
requires make setpriv
[ -z "${SAN:-}" ] || skip_all "the sanitizers' run-time needs more calls"

chmod 755 "$TMP"
make -s -C "$TOP" install DESTDIR="$TMP/root" PREFIX=/opt/rgpu >/dev/null || bail "make install"
root=$TMP/root/opt/rgpu
mkdir "$TMP/driver"
cp "$BUILD/tests/hostile-driver.so" "$BUILD/lib/libcuda-sim.so" "$TMP/driver/"
ln -s libcuda-sim.so "$TMP/driver/libcuda.so.1"
export HOSTILE_KEY=$TMP/secret/box.key HOSTILE_STATE=$TMP/secret/revocations HOSTILE_NODE=/dev/full
export HOSTILE_ADMIN=$TMP/run/rgpud.sock RGPU_SIM_DEVICES=1 RGPU_SIM_MEMORY=256M

# launch NAME USER [-- PREFIX...]: sets BOX, BOX_PID and BOX_LOG.
launch() {
    local name=$1 user=$2
    shift 2
    rm -rf "$TMP/secret" "$TMP/run"
    mkdir -m 755 "$TMP/secret" "$TMP/run"
    echo key >"$HOSTILE_KEY"
    echo revoked >"$HOSTILE_STATE"
    chmod 600 "$HOSTILE_KEY" "$HOSTILE_STATE"
    [ "$(id -u)" != 0 ] || chown -R "$user" "$TMP/secret" "$TMP/run"
    start "$name" "$@" "$root/sbin/rgpud" --standalone --devices cuda:0 --driver "$TMP/driver/hostile-driver.so" \
        --listen 127.0.0.1:0 --admin-socket "$HOSTILE_ADMIN" --transports tcp,shm "${settings[@]}"
    BOX_PID=$PID BOX_LOG=$TMP/$name.log
    await_line "$name" 'ready listen=([^ ]+)' || bail "$name: the box did not start"
    BOX=${BASH_REMATCH[1]}
}

# spawner RGPUD_USER [PREFIX...]: starts rgpu-spawner as its unit does. Sets SPAWNER_PID and ORDERS.
spawner() {
    local user=$1
    shift
    mkdir -p "$TMP/orders"
    [ "$(id -u)" != 0 ] || chmod 777 "$TMP/orders"
    ORDERS=$TMP/orders/orders.sock
    rm -f "$TMP/spawner.log" "$ORDERS"
    start spawner "$@" "$root/libexec/rgpu/rgpu-spawner" --standalone --devices cuda:0 \
        --driver "$TMP/driver/hostile-driver.so" --orders "$ORDERS" --for "$user"
    SPAWNER_PID=$PID
    await "the spawner's socket" [ -S "$ORDERS" ] || bail "the spawner does not start"
}

log_has() { grep -Eq -e "$1" "$BOX_LOG"; }

attacked() {
    local name=$1 phase call
    shift
    ok "$name: a program runs in the midst of it" on_box "$BUILD/tests/programs/saxpy"
    for phase in start serving; do
        await "the end of the attempts" log_has "hostile: $phase: attempts="
        is "$(grep "hostile: $phase: attempts=" "$BOX_LOG" | head -n 1 | sed 's/.*\(successes=[0-9]*\).*/\1/')" \
            successes=0 "$name: no attempt succeeds ($phase)"
        is "$(grep -E "hostile: $phase: .*(SUCCEEDED|OTHERWISE)" "$BOX_LOG")" "" "$name: each one is refused ($phase)"
        [ "$(sed -n "s/.*hostile: $phase: attempts=\([0-9]*\).*/\1/p" "$BOX_LOG" | head -n 1)" -ge 130 ] &&
            pass "$name: all were tried ($phase)" || fail "$name: all were tried ($phase)"
    done
    # Each start of a worker adds to the log, so it is read once.
    is "$(sed -n 's/.*hostile: [a-z]*: needed .*: //p' "$BOX_LOG" | sort -u)" opened \
        "$name: what a driver needs can be opened"
    is "$(cat "$HOSTILE_KEY" "$HOSTILE_STATE")" "$(printf 'key\nrevoked')" "$name: key and state are as they were"
    for call in ${named:-ptrace bpf} process_vm_readv tgkill kill connect socket execve keyctl unshare truncate; do
        log_has "worker pid=[0-9]+ system call $call refused" || fail "$name: the log names $call"
    done
    pass "$name: the log names the calls"
    kill -0 "$BOX_PID" && ok "$name: the box serves on" on_box "$BUILD/tests/programs/saxpy"
}

settings=()
if [ "$(id -u)" = 0 ]; then
    launch root 0
    attacked root
    users=$(sed -n 's/.*hostile: start: .*uid=//p' "$BOX_LOG")
    [ "$(sort -u <<<"$users" | wc -l)" = "$(wc -l <<<"$users")" ] && pass "each worker is another user" ||
        fail "each worker is another user: $users"
    unlike "$users" '^0$' "and none is root"
    warm_status() {
        cat "/proc/$(sed -n 's/.*worker ready pid=\([0-9]*\).*/\1/p' "$BOX_LOG" | tail -n 1)/status" >"$TMP/status"
    }
    await "a warm worker" warm_status
    is "$(awk '/^(CapEff|CapPrm|CapAmb)/ { print $2 }' "$TMP/status" | sort -u)" 0000000000000000 \
        "a worker has no capability"
    is "$(awk '/^NoNewPrivs/ { print $2 }' "$TMP/status")" 1 "nor will it get any"
    stop "$BOX_PID"
    ordinary=(setpriv --reuid 2000200000 --regid 2000200000 --clear-groups)
    launch ordinary 2000200000 "${ordinary[@]}"
else
    launch ordinary "$(id -u)"
fi
attacked ordinary
log_has 'workers are not protected .*rgpu-spawner lacks the right' && pass "ordinary: the log says what is not protected" ||
    fail "ordinary: the log says what is not protected"
stop "$BOX_PID"

if [ "$(id -u)" = 0 ] && command -v systemd-analyze >/dev/null; then
    spawner 2000300000 python3 "$TOP/tests/daemon/as_unit.py" "$root/lib/systemd/system/rgpu-workers.service" \
        2000300001 2000300000 "$TMP" --
    settings=(--spawner "$ORDERS")
    launch unit 2000300000 python3 "$TOP/tests/daemon/as_unit.py" "$root/lib/systemd/system/rgpud.service" \
        2000300000 2000300000 "$TMP" --
    settings=()
    named=truncate attacked unit # the unit's own filter refuses some calls without asking
    unlike "$(sed -n 's/.*hostile: start: .*uid=//p' "$BOX_LOG")" '^2000300000$' "unit: workers are not the supervisor's user"
    stop "$BOX_PID"
    stop "$SPAWNER_PID"
else
    skip "unit: only root with systemd-analyze can take the unit's rights"
fi

# A supervisor that is killed comes back within 30 s, or its workers end: by themselves, or by the spawner.
spawner_says() { grep -Eq -e "$1" "$TMP/spawner.log"; }
outlived() {
    local worker
    spawner "$(id -u)"
    settings=(--spawner "$ORDERS")
    launch "$1" "$(id -u)"
    settings=()
    await "an attacked worker" log_has 'hostile: start: attempts='
    worker=$(pgrep -P "$SPAWNER_PID" -f '^rgpu-worker' | head -n 1)
    kill -KILL "$BOX_PID"
    ended() { ! kill -0 "$worker" 2>/dev/null; }
    await "the end of a worker without a supervisor" ended && pass "$1: a worker does not outlive its supervisor" ||
        fail "$1: a worker does not outlive its supervisor"
}
outlived alone
spawner_says 'no rgpud has come for 30 s' && ! spawner_says 'processes are killed' &&
    pass "alone: it ends by itself after 30 s" || fail "alone: it ends by itself after 30 s"
stop "$SPAWNER_PID"
HOSTILE_STAY=1 outlived stubborn
spawner_says 'processes are killed that do not end' && pass "stubborn: the spawner kills one that stays" ||
    fail "stubborn: the spawner kills one that stays"
stop "$SPAWNER_PID"

HOSTILE_FLOOD=1 launch flood "$(id -u)"
fails "a program whose worker makes refused calls without end loses it" on_box "$BUILD/tests/programs/saxpy"
await "the end of the worker" log_has 'session=1 ended .*reason="made more than [0-9]+ system calls that are refused'
pass "the worker is ended with that reason"
stop "$BOX_PID"

settings=(--worker-filter log --worker-uids none)
HOSTILE_MILD=1 launch open "$(id -u)"
for attempt in read-key write-state kill-supervisor create-in-tmp tcp-socket admin-socket list-processes; do
    log_has "hostile: start: $attempt: SUCCEEDED" && pass "not confined, the attempt succeeds: $attempt" ||
        fail "not confined, the attempt succeeds: $attempt: $(grep "start: $attempt:" "$BOX_LOG")"
done
log_has 'system call connect would be refused' && pass "and the log says what would be refused" ||
    fail "and the log says what would be refused"
rm -rf /tmp/hostile /tmp/hostile.d /tmp/hostile.[0-9]* /dev/shm/hostile
log_has "worker pid=[0-9]+ opens file=$HOSTILE_KEY" && pass "and which files are opened" ||
    fail "and which files are opened"
done_testing
