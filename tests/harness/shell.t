#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The shell side: started programs are waited for by their own words and end with the test.
. "$(dirname "$0")/../lib.sh"

ok "a command that succeeds" true
fails "a command that fails" false
is "$(printf 'a b')" "a b" "texts compare"
like "one two" 't.o$' "texts match"

start talker bash -c 'echo ready on 127.0.0.1:1; exec tail -f /dev/null'
talker=$PID
ok "its line arrives" await_line talker '^ready'
ok "it is alive" kill -0 "$talker"
stop "$talker"
fails "it is gone once stopped" kill -0 "$talker"

# What is read of a line before the rest of it has come is not lost.
mkfifo "$TMP/go"
exec {go}<>"$TMP/go" # open all the time, so that no line falls between two readers
start halves bash -c 'printf "halves are rea"; read -r <"$1"; echo dy; read -r <"$1"; echo last words' _ "$TMP/go"
half_read() { ! read_line halves 0.01 && [ "${line_begun[halves]}" = 'halves are rea' ]; }
ok "the first half of a line is read" await "it" half_read
echo >&"$go"
ok "with the second it is one line" await_line halves '^halves are ready$'
echo >&"$go"
gone_quiet() { ! kill -0 "${line_pid[halves]}" 2>/dev/null; }
ok "a program says something and ends" await "its end" gone_quiet
ok "what it said is still heard" await_line halves '^last words$'
fails "and there is no more" await_line halves

# A test that is killed leaves nothing behind.
{ TMPDIR=$TMP bash -c '. "$1"; start sleeper tail -f /dev/null; echo "$PID" >"$2"; kill -9 $$' _ \
    "$TOP/tests/lib.sh" "$TMP/pid" || true; } 2>/dev/null
gone() { ! kill -0 "$(cat "$TMP/pid")" 2>/dev/null; }
ok "a killed test takes what it started with it" await "it is gone" gone
done_testing
