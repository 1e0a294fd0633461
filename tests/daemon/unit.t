#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The installed box runs as its two systemd units would have it run: users, capabilities, limits, file system
# and system calls as the units say, applied without systemd (tests/daemon/as_unit.py).
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
requires systemd-analyze make
[ "$(id -u)" = 0 ] || skip_all "only root can become the unit's user"
[ -z "${SAN:-}" ] || skip_all "the unit's filter is not for the sanitizers' run-time"

ACCOUNT=2000100000 WORKERS=2000100001
chmod 755 "$TMP"
make -s -C "$TOP" install DESTDIR="$TMP/root" PREFIX=/opt/rgpu >/dev/null || bail "make install"
root=$TMP/root/opt/rgpu
units=$root/lib/systemd/system

mkdir -p "$TMP/run"
install -d -o $ACCOUNT -m 0711 "$TMP/run/rgpu-clients"
printf '[box]\ndevices = sim:2\nlisten = 127.0.0.1:0\nadmin_socket = %s\nclient_sockets = %s\n[auth]\nauth = none\n' \
    "$TMP/run/rgpu/rgpud.sock" "$TMP/run/rgpu-clients" >"$TMP/rgpud.conf"
start spawner python3 "$TOP/tests/daemon/as_unit.py" "$units/rgpu-workers.service" $WORKERS $ACCOUNT "$TMP" -- \
    "$root/libexec/rgpu/rgpu-spawner" --config "$TMP/rgpud.conf" --orders "$TMP/run/rgpu-workers/orders.sock" --for $ACCOUNT
SPAWNER_PID=$PID
await "the spawner's socket" [ -S "$TMP/run/rgpu-workers/orders.sock" ] || bail "the spawner does not start as its unit"
start_as_unit() {
    start "$1" python3 "$TOP/tests/daemon/as_unit.py" "$units/rgpud.service" $ACCOUNT $ACCOUNT "$TMP" -- \
        "$root/sbin/rgpud" --config "$TMP/rgpud.conf" --spawner "$TMP/run/rgpu-workers/orders.sock"
    await_line "$1" 'ready listen=([^ ]+) devices=2' || bail "the box does not start as its unit"
    [[ $LINE =~ listen=([^ ]+) ]]
    BOX=${BASH_REMATCH[1]} BOX_PID=$PID
}
start_as_unit box
pass "the box starts under the unit's filter with software GPUs"
is "$(awk '/^Uid/ { print $2 }' "/proc/$BOX_PID/status")" $ACCOUNT "as the unit's user"
is "$(awk '/^Cap(Prm|Eff|Bnd|Amb)/ { print $2 }' "/proc/$BOX_PID/status" | sort -u)" 0000000000000000 \
    "which has no capability and gets none"
is "$(awk '/^Uid/ { print $2 }' "/proc/$SPAWNER_PID/status")" $WORKERS "the spawner is another user"
worker=$(pgrep -P "$SPAWNER_PID" rgpu-worker | head -n 1)
uid=$(awk '/^Uid/ { print $2 }' "/proc/$worker/status")
[ "$uid" -ge 2000000000 ] && [ "$uid" -le 2000000999 ] && pass "a worker is a user of worker_uids" ||
    fail "a worker is a user of worker_uids: $uid"
is "$(find "$TMP/run/rgpu-clients" -type s -name 'rgpu-*' -printf '%m\n' | sort -u)" 666 "its workers have sockets for containers"
fails "settings of the kernel cannot be written in its mounts" nsenter --mount --target "$BOX_PID" \
    sh -c 'cat /proc/sys/kernel/core_pattern >/proc/sys/kernel/core_pattern'
for transport in shm tcp; do
    for program in saxpy modules print pinned; do
        ok "$program over $transport" on_box RGPU_TRANSPORT=$transport "$BUILD/tests/programs/$program"
    done
done
start_session session
kill -KILL "$BOX_PID"
wait "$BOX_PID" 2>/dev/null || true
start_as_unit again
ok "a session goes on when rgpud is killed and started again" goes_on session
logs "$TMP/again.log" 'session=[0-9]+ is taken over' "and is taken over"
stop "${line_pid[session]}"
ok "rgpuctl drains it" "$root/bin/rgpuctl" drain --socket "$TMP/run/rgpu/rgpud.sock"
done_testing
