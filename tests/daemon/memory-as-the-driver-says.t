#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The account of a lease is compared with what the driver itself says that its process, or where it names
# none, its GPU has: memory that was taken behind the account's back is told, with both figures.
. "$(dirname "$0")/../lib.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
chmod 755 "$TMP"
mkdir "$TMP/driver"
cp "$BUILD/tests/leaky-driver.so" "$BUILD/lib/libcuda-sim.so" "$TMP/driver/"
ln -s libcuda-sim.so "$TMP/driver/libcuda.so.1"
export RGPU_SIM_DEVICES=1 RGPU_SIM_MEMORY=4G
GPU=

log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
rounds() { grep -c "the driver's figures" "$BOX_LOG" || true; }
reached() { [ "$(rounds)" -ge "$1" ]; }
more_rounds() { await "$1 more readings" reached $(($(rounds) + $1)); }
devices() { "$BUILD/bin/rgpuctl" devices --socket "$TMP/admin.sock" --json; }
has_idle_worker() { [ "$(devices | member warm)" = 1 ]; }
member() { python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())[sys.argv[1]])' "$1"; }

# launch NAME [arguments of rgpud]
launch() {
    local name=$1
    shift
    start "$name" "$BUILD/bin/rgpud" --standalone --devices sim:1 --driver "$TMP/driver/leaky-driver.so" \
        --listen 127.0.0.1:0 --auth ticket --key-file "$TMP/box.key" --name "$name" --transports tcp,shm \
        --admin-socket "$TMP/admin.sock" --memory-check 20ms --memory-tolerance 16M --refill-timeout 0 --log-level debug "$@"
    BOX_PID=$PID BOX_LOG=$TMP/$name.log BOX_NAME=$name
    await_line "$name" 'ready listen=([^ ]+) devices=1' || bail "$name: the box did not start"
    BOX=${BASH_REMATCH[1]}
    GPU=$(sed -n 's/.*device ordinal=0 uuid=\([^ ]*\).*/\1/p' "$BOX_LOG")
}

# hold NAME: a program that holds 64 MiB of a share.
hold() {
    start "$1" env LD_LIBRARY_PATH="$BUILD/lib" LD_PRELOAD="$(preload_for_sanitizers)" \
        RGPU_TICKET="$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" "$BOX_NAME" 3600 shared=1073741824 "$GPU")" \
        "$BUILD/tests/hold-memory"
    HOLDER=$PID
    await_line "$1" holding || bail "$1: the program did not start"
}

STIR=20000000 launch stirred
await "an idle worker" has_idle_worker
is "$(devices | member context_cost)" 67108864 "what a context takes is found beside others that take memory and give it back"
stop "$BOX_PID"

launch honest
hold one
hold two
await "an idle worker" has_idle_worker
more_rounds 6
is "$(devices | member account_bytes)" $((3 * 67108864)) "the accounts of two processes: what they hold, and the second's context"
is "$(devices | member driver_bytes)" $((5 * 67108864)) "the driver says the same, and the contexts of the first and of an idle worker"
unlike "$(cat "$BOX_LOG")" 'WARN|has more memory' "nothing is told where they agree"
if [ "$(id -u)" = 0 ]; then
    for fd in /proc/"$BOX_PID"/fd/*; do [[ $(readlink "$fd") != *rgpu-sim* ]] || exec 9<>"$fd"; done
    start stranger env RGPU_SIM_STATE=fd:9 RGPU_SIM_HOST=honest LD_LIBRARY_PATH="$BUILD/lib/sim" \
        LD_PRELOAD="$(preload_for_sanitizers)" "$BUILD/tests/hold-memory"
    stranger=$PID
    await_line stranger holding || bail "the stranger did not start"
    await "the warning" log_has "gpu=0: memory is taken by processes that are not this box's bytes=134217728 pid=$stranger"
    pass "memory that somebody else takes is told, with his process"
    stop "$stranger" KILL
    exec 9>&-
else
    pass "(only root reaches the software GPUs of a box from outside)"
fi
stop "$BOX_PID" KILL

suspend() { "$BUILD/bin/rgpuctl" suspend lease-1 --socket "$TMP/admin.sock"; }
launch light
hold kept
ok "a lease is suspended" suspend
more_rounds 6
unlike "$(cat "$BOX_LOG")" 'has more memory|suspended was=suspended' "its context stays on the GPU, as the driver says"
stop "$BOX_PID" KILL

export LEAK=104857600
launch leaks
hold leaking
await "the warning" log_has 'session=1 lease=lease-1 pid=[0-9]+ gpu=0: the driver says that the process has more memory than its account driver=239075328 account=67108864'
pass "what a process took behind its account's back is told, with lease and both figures"
more_rounds 40
told=$(grep -c 'more memory than its account' "$BOX_LOG")
[ "$told" -ge 2 ] && [ "$told" -lt 12 ] && pass "again and again, and ever more rarely" ||
    fail "again and again, and ever more rarely ($told lines in $(rounds) readings)"
ok "its lease is suspended" suspend
await "the driver" log_has 'suspension=suspended was=suspended'
pass "and since more is left on the GPU than its context, the driver moves all"
ok "it is resumed" "$BUILD/bin/rgpuctl" resume lease-1 --socket "$TMP/admin.sock"
pid=$(pgrep -P "$BOX_PID" rgpu-monitor)
kill -KILL "$pid"
await "the end of rgpu-monitor" log_has 'rgpu-monitor ended how="killed by signal 9'
hold after
pass "the box serves on when rgpu-monitor dies"
stop "$BOX_PID" KILL

export RGPU_SIM_HIDE_PROCESSES=1
launch hides
hold hiding
await "the warning" log_has 'gpu=0: the driver says that more memory is taken than the accounts and contexts of all sessions driver=306184192 expected=201326592 before=0'
pass "where the driver does not name processes, their GPU's figure is compared"
stop "$BOX_PID" KILL
unset LEAK
launch hides-well
hold hidden
await "an idle worker" has_idle_worker
more_rounds 6
unlike "$(cat "$BOX_LOG")" 'WARN|more memory is taken' "and nothing is told where that agrees"
stop "$BOX_PID" KILL

launch without --management-library "$TMP/no-such-library.so"
hold plain
await "the reason" log_has "accounts of memory are not compared with the driver's figures: library=$TMP/no-such-library.so reason=\".*No such file"
pass "without the library the box serves, and says why it does not compare"
unlike "$(devices)" driver_bytes "the driver's figure is not known then"
done_testing
