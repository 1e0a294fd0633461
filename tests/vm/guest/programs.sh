#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest, which has a window: who may use it, which transport is chosen, the transport's own tests inside of the
# window's memory, programs one after the other and several at once, and one that is at work when the machine is killed.
# usage: programs.sh BOX-PORT
. "$TOP/tests/lib.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/session/held.sh"
BOX=10.0.2.2:$1
export RGPU_LOG=info
device=
for at in /sys/bus/pci/devices/*; do
    [ "$(cat "$at/vendor" "$at/device")" != "$(printf '0x1af4\n0x1110')" ] || device=$at
done
[ -n "$device" ] || bail "the machine has no ivshmem device"
await "the host is reached" bash -c "exec 3<>/dev/tcp/10.0.2.2/$1"
saxpy=$BUILD/tests/programs/saxpy

# ---- an ordinary user, before and after the rule ----
chmod 755 "$TMP"
as_other() { setpriv --reuid 1234 --regid 1234 --groups "$1" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "${@:2}"; }
log=$(as_other 1234 "$saxpy" 2>&1 >/dev/null)
like "$log" 'transport=tcp reason=".*no window: the memory of PCI device .*: Permission denied' \
    "a user who may not map the device uses TCP, and is told why"
rule=$(sed -n 's/.*RUN+="\/bin\/sh -c .\(.*\).".*/\1/p' "$TOP/config/vm/60-rgpu-vm.rules")
rule=${rule/\$devpath//bus/pci/devices/${device##*/}}
ok "what the rule for udev does" sh -c "${rule//chgrp rgpu/chgrp 4321}"
log=$(as_other 4321 "$saxpy" 2>&1 >/dev/null)
like "$log" 'transport=vm reason=".*a window of the box' "a user of its group uses the window"
log=$(as_other 1234 "$saxpy" 2>&1 >/dev/null)
like "$log" 'transport=tcp' "and nobody else"

# ---- the transport, inside of the window ----
export RGPU_TEST_TRANSPORT=vm RGPU_TEST_WINDOW=$device/resource2
PROGRAM_SECONDS=200 run_checks transport-{records,bulk,waiting,shutdown,backpressure,idle,fork,peer_death}

# ---- programs ----
run=(on_box RGPU_TRANSPORT=vm)
for program in saxpy pinned copies contexts mapped-host threads; do
    run_program "C: $program" "$BUILD/tests/programs/$program"
done
for i in 1 2 3; do
    on_box RGPU_TRANSPORT=vm "$saxpy" >"$TMP/$i.out" 2>&1 &
    jobs[i]=$!
done
for i in 1 2 3; do
    ok "process $i of three at once" wait "${jobs[i]}"
done

# ---- at work when the machine ends ----
start_held held 1 env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" RGPU_TRANSPORT=vm
await_line held ready || bail "no session is held"
pass "a session is held"
echo "1..$tap_count"
await "the end of this machine" false
