#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The checks of whole programs hold while their session goes from one GPU to the other and back, again and again.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/suspending.sh"

printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_box --devices sim:2 --admin-socket "$TMP/admin" --auth ticket --key-file "$TMP/box.key" --name box1 --suspend-timeout 300ms
gpu=$(ctl devices --json | sed -n 's/.*"ordinal":0,.*"uuid":"\([^"]*\)".*/\1/p; s/.*"uuid":"\([^"]*\)".*"ordinal":0,.*/\1/p' | head -n 1)
runs() { kill -0 "${line_pid[$1]}" 2>/dev/null; }
moves=0
# What work does not end, or has no session yet or any more, is refused.
move_about() {
    local to=1
    while runs "$1"; do
        if ctl move "$1" --to box1:$to 2>>"$TMP/ctl.log"; then
            to=$((1 - to)) moves=$((moves + 1))
        fi
    done
}
# moved TRANSPORT PROGRAM
moved() {
    local lease=${2##*/}
    start "$lease" env "LD_PRELOAD=$(preload_for_sanitizers)" LD_LIBRARY_PATH="$BUILD/lib" "RGPU_TRANSPORT=$1" \
        "RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" box1 3600 "lease=$lease" "$gpu")" \
        bash -c '"$1" >"$2" 2>&1; echo "status $?"' - "$BUILD/tests/programs/$2" "$TMP/$lease.out"
    move_about "$lease"
    ok "$1: $2 comes to its end" await_line "$lease" '^status'
    is "$LINE" "status 0" "and all is as it should be"
    unlike "$(cat "$TMP/$lease.out")" '^not ok' "in each of its checks"
}
moved shm copies
moved tcp overlap
moved shm graph/graph-repeat
moved tcp freed-in-order
moved shm virtual
ok "they have been moved" [ $moves -gt 0 ]
unlike "$(cat "$BOX_LOG")" 'lost error=|signal' "no session was lost, and nothing has crashed"
done_testing
