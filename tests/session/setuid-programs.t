#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that runs with more rights than its user has believes no variable of the environment: it opens no session with
# a box that the user names, and writes no file that the user names.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || skip_all "only root makes such a program"
start_box
share "$BUILD/tests/reloaded" "$BUILD/lib/libcuda.so.1"
mkdir -m 1777 "$SHARED/theirs"
ask=(as_user 65534 env "RGPU_BOXES=$BOX" "RGPU_TRACE=$SHARED/theirs/trace" "RGPU_STATS=1" "RGPU_LOG=debug"
    "$SHARED/reloaded" "$SHARED/libcuda.so.1" 1)
ok "an ordinary program of that user finds the box" "${ask[@]}"
ok "and writes a timeline" [ -e "$SHARED/theirs/trace" ]
is "$(grep -c 'session=[0-9]* begins' "$BOX_LOG")" 1 "by one session"
rm -f "$SHARED/theirs/trace"
chmod u+s "$SHARED/reloaded"
[ "$(as_user 65534 "$SHARED/reloaded" x 0 >/dev/null 2>&1; echo $?)" != 126 ] || skip_all "no program may have other rights here"
fails "a setuid program finds none" "${ask[@]}"
ok "and writes none" [ ! -e "$SHARED/theirs/trace" ]
is "$(grep -c 'session=[0-9]* begins' "$BOX_LOG")" 1 "and opens no session"
done_testing
