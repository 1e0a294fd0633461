#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The installed box runs as its systemd unit would have it run: user, capabilities, limits, file system
# and system calls as the unit says, applied without systemd (tests/daemon/as_unit.py).
. "$(dirname "$0")/../lib.sh"
requires systemd-analyze make
[ "$(id -u)" = 0 ] || skip_all "only root can become the unit's user"
[ -z "${SAN:-}" ] || skip_all "the unit's filter is not for the sanitizers' run-time"

ACCOUNT=2000100000
chmod 755 "$TMP"
make -s -C "$TOP" install DESTDIR="$TMP/root" PREFIX=/opt/rgpu >/dev/null || bail "make install"
root=$TMP/root/opt/rgpu
unit=$root/lib/systemd/system/rgpud.service

mkdir -p "$TMP/run"
install -d -o $ACCOUNT -m 0711 "$TMP/run/rgpu-clients"
printf '[box]\ndevices = sim:2\nlisten = 127.0.0.1:0\nadmin_socket = %s\nclient_sockets = %s\n[auth]\nauth = none\n' \
    "$TMP/run/rgpu/rgpud.sock" "$TMP/run/rgpu-clients" >"$TMP/rgpud.conf"
start box python3 "$TOP/tests/daemon/as_unit.py" "$unit" $ACCOUNT $ACCOUNT "$TMP" -- \
    "$root/sbin/rgpud" --config "$TMP/rgpud.conf"
await_line box 'ready listen=([^ ]+) devices=2' || bail "the box does not start as its unit"
[[ $LINE =~ listen=([^ ]+) ]]
BOX=${BASH_REMATCH[1]} BOX_PID=$PID
pass "the box starts under the unit's filter with software GPUs"
is "$(awk '/^Uid/ { print $2 }' "/proc/$BOX_PID/status")" $ACCOUNT "as the unit's user"
is "$(find "$TMP/run/rgpu-clients" -type s -name 'rgpu-*' -printf '%m\n' | sort -u)" 666 "its workers have sockets for containers"
fails "settings of the kernel cannot be written in its mounts" nsenter --mount --target "$BOX_PID" \
    sh -c 'cat /proc/sys/kernel/core_pattern >/proc/sys/kernel/core_pattern'
for transport in shm tcp; do
    for program in saxpy modules print pinned; do
        ok "$program over $transport" on_box RGPU_TRANSPORT=$transport "$BUILD/tests/programs/$program"
    done
done
ok "rgpuctl drains it" "$root/bin/rgpuctl" drain --socket "$TMP/run/rgpu/rgpud.sock"

# Ten times what systemd-analyze gives; rgpud starts its workers itself, for which it changes users and signals them.
while read -r name most; do
    ok "$name is exposed to at most $most" systemd-analyze security --offline=true --no-pager --threshold="$most" \
        "$root/lib/systemd/system/$name.service"
done <<<"rgpud 25
rgpu-brokerd 15
rgpu-slurm-sync 15"
done_testing
