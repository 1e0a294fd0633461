#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What `make install` puts in place works from there, wherever that is.
. "$(dirname "$0")/../lib.sh"
requires make

san=${SAN:-}
ok "make install" make -s -C "$TOP" install DESTDIR="$TMP/root" PREFIX=/opt/rgpu SAN="$san"
root=$TMP/root/opt/rgpu
for file in sbin/rgpud bin/rgpuctl libexec/rgpu/rgpu-worker lib/rgpu/libcuda.so.1 lib/rgpu/libcuda-sim.so \
    lib/systemd/system/rgpud.service share/man/man8/rgpud.8 share/man/man1/rgpuctl.1; do
    [ -s "$root/$file" ] || fail "$file is missing"
done
pass "every part is there"
like "$(cat "$root/lib/systemd/system/rgpud.service")" '^ExecStart=/opt/rgpu/sbin/rgpud --config /etc/rgpu/rgpud.conf' \
    "the unit starts the installed program"
is "$(ls "$root/lib")" "$(printf 'rgpu\nsystemd\nsysusers.d\ntmpfiles.d')" "no library lies where every program would find it"

echo "[box]
devices = sim:1" >"$TMP/root/etc/rgpu/rgpud.conf"
ok "installing again" make -s -C "$TOP" install DESTDIR="$TMP/root" PREFIX=/opt/rgpu SAN="$san"
like "$(cat "$TMP/root/etc/rgpu/rgpud.conf")" 'sim:1' "keeps the administrator's settings"

start box "$root/sbin/rgpud" --standalone --config "$TMP/root/etc/rgpu/rgpud.conf" --listen 127.0.0.1:0
await_line box 'ready listen=([^ ]+) devices=1' || bail "the installed box does not start"
[[ $LINE =~ listen=([^ ]+) ]]
BOX=${BASH_REMATCH[1]}
preload=$(preload_for_sanitizers)
ok "an installed rgpuctl runs a program on an installed box" \
    env ${preload:+LD_PRELOAD="$preload"} "$root/bin/rgpuctl" run --box "$BOX" -- "$BUILD/tests/programs/contexts"
await "the end of the session" grep -q 'session=1 ended' "$TMP/box.log"
logs "$TMP/box.log" 'session=1 ended .*client="contexts .*transport=shm' "over shared memory"
done_testing
