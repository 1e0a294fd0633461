#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Windows into virtual machines: who may have them, several processes and machines, a window that is full or detached in
# the middle of work, a connection that is cut, a machine that is killed, and one that starts anew.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/windows.sh"
start_windowed_box --worker-uids none --devices sim:2

arguments=$(vm attach one --size 64M)
like "$arguments" "path=$WINDOWS/vm-one -device ivshmem-doorbell,chardev=rgpu" "attach says what QEMU is told"
like "$arguments" "<server path='$WINDOWS/vm-one'/>" "and libvirt"
ok "a second machine" vm attach two --size 64M
for wrong in "one --size 64M" "three --size 65M" "three --size 16M" "three --size 4T" "a/b" "three --user nobody-of-that-name"; do
    fails "refused: vm attach $wrong" vm attach $wrong
done
fails "a machine that there is not is not detached" vm detach three
like "$(vm list)" 'one .*attached' "list shows them"

hold() { # NAME MACHINE [VARIABLE=VALUE...]: keeps a session, and says on each line what it has found
    local name=$1 machine=$2
    shift 2
    mkfifo "$TMP/$name.in"
    start "$name" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" RGPU_LOG=info RGPU_TRANSPORT=vm \
        RGPU_VM_WINDOW="unix:$WINDOWS/vm-$machine" "$@" bash -c 'exec "$0" 1 <"$1"' "$BUILD/tests/held-data" "$TMP/$name.in"
    exec {feed}>"$TMP/$name.in"
    feeds[$name]=$feed
    await_line "$name" || bail "$name does not begin"
}
declare -A feeds=()
goes_on() { echo >&"${feeds[$1]}" && await_line "$1" '^right'; }
ends() { # NAME: what its end was is in its log
    eval "exec ${feeds[$1]}>&-"
    wait "${line_pid[$1]}" 2>/dev/null || true
}
sessions_are() { [ "$("$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json | grep -c "\"transport\":\"vm\"")" = "$1" ]; }

hold a one
hold b one
hold c two
await "sessions in windows" sessions_are 3
is "$(window one sessions) $(window two sessions)" "2 1" "two processes of one machine, and one of another"
ok "each has its data" goes_on a
ok "each has its data" goes_on b
ok "each has its data" goes_on c

# ---- a hostile machine ----
ok "a machine writes all over its window" "$BUILD/tests/window-vandal" "$WINDOWS/vm-one" 400
await "the sessions of that machine end" has one sessions 0 && pass "its own sessions end"
ok "those of another machine go on" goes_on c
ok "the box is alive" kill -0 "$BOX_PID"
await "the window is free again" has one taken 0
ok "a worker that has ended by itself or by a signal leaves the window usable" in_window one "$BUILD/tests/programs/saxpy"

# ---- full ----
ok "a program that needs more page-locked memory than there is" in_window one "$BUILD/tests/window-filler" 16 2>"$TMP/err"
like "$(cat "$TMP/ok.out")" 'no room for page-locked memory' "is told, and computes"
await "the window is free again" has one taken 0
hold d one
hold e one
status=0
on_box RGPU_LOG=info RGPU_VM_WINDOW="unix:$WINDOWS/vm-one" RGPU_TRANSPORT=vm "$BUILD/tests/window-filler" 8 >"$TMP/full" 2>&1 || status=$?
is $status 0 "a third session beside two"
await "the third session ends" has one sessions 2
hold f one
status=0
in_window one "$BUILD/tests/programs/saxpy" >"$TMP/full" 2>&1 || status=$?
[ $status != 0 ] && pass "a window without room for one more session refuses it"
like "$(cat "$TMP/full")" 'window of this machine is full|the one of this machine is full' "and says why"

# ---- detached in the middle of work ----
ok "a window is detached" vm detach one
await "its sessions end" has one sessions '' && pass "its sessions end"
fails "their programs get an error" goes_on d
logs "$BOX_LOG" 'the window into its virtual machine was detached' "the log says why"
ok "other machines are not disturbed" goes_on c
ok "the same name can be attached again" vm attach one --size 64M
ok "and be used" in_window one "$BUILD/tests/programs/saxpy"

# ---- a connection that is cut ----
echo "$BOX" >"$TMP/target"
start relay python3 -B "$TOP/tests/session/forwarder.py" "$TMP/target"
await_line relay '^port ([0-9]+)' || bail "no relay"
hold cut one RGPU_BOXES="127.0.0.1:${LINE#port }"
ok "a session over the window whose connection passes a proxy" goes_on cut
stop "${line_pid[relay]}" KILL
fails "it ends with its connection" goes_on cut
await "its part of the window is free" has one taken 0 && pass "its part of the window is free"
ok "and the next session has it" in_window one "$BUILD/tests/programs/saxpy"

# ---- a machine that is gone, and one that starts anew ----
kill -KILL -- "-${line_pid[c]}" 2>/dev/null || kill -KILL "${line_pid[c]}"
await "a machine that is killed leaves nothing" has two taken 0 && pass "a machine that is killed leaves nothing"
hold g two
mkdir "$TMP/boot" && cat /proc/sys/kernel/random/uuid >"$TMP/boot/id"
if unshare -m true 2>/dev/null; then
    ok "a program that cannot read the boot id uses the window too" in_window two unshare -m bash -c \
        'mount --bind /dev/null /proc/sys/kernel/random/boot_id && exec "$0"' "$BUILD/tests/programs/saxpy"
    ok "and ends no other session of its machine" goes_on g
    in_window two unshare -m bash -c 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$1"' "$TMP/boot/id" \
        "$BUILD/tests/programs/saxpy" >"$TMP/out" 2>&1 || true
    like "$(cat "$TMP/out")" 'transport=vm' "a machine that has started anew gets a part of its window"
    await "the sessions of before end" has two sessions 0 && pass "and the sessions of before end"
else
    for what in "a program that cannot read" "and ends no other session" "a machine that has started"; do
        skip "$what: no right to make mounts here"
    done
fi
logs "$BOX_LOG" 'its virtual machine has started anew|its virtual machine is gone' "the log says why"
done_testing
