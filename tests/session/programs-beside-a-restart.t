#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that start while rgpud is stopped, killed and started again run, or say why they cannot.
. "$(dirname "$0")/../lib.sh"
start_box
listen=$BOX
cat >"$TMP/programs" <<'END2'
# Runs the program over and over; a line for each run: fine, said (why not), or silent.
while [ -d "$1" ] && [ ! -e "$1/stop" ]; do
    if "$2" >/dev/null 2>"$1/said"; then echo fine
    elif grep -q '^rgpu: ' "$1/said"; then echo said
    else echo silent
    fi >>"$1/runs" || exit
done
END2
: >"$TMP/runs"
start programs env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" bash "$TMP/programs" "$TMP" "$BUILD/tests/programs/saxpy"
runs() { grep -c "^$1" "$TMP/runs" || true; }
more_than() { [ "$(runs "$1")" -gt "$2" ]; }
# one_more KIND: another run of that kind has ended.
one_more() { await "another run that is $1" more_than "$1" "$(runs "$1")"; }
for signal in TERM KILL TERM KILL; do
    one_more fine
    stop "$BOX_PID" $signal
    one_more said
    start_box --listen "$listen"
done
ok "programs run again" one_more fine
is "$(runs silent)" 0 "of the programs that could not run each said why"
diag "fine $(runs fine), with a reason $(runs said)"
done_testing
