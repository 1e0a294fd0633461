#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A client that shares as much memory as it gets, and shows wrong tokens all the time, takes its part of the box's
# descriptors and of its log, while another client shares memory and computes.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/tickets.sh"
ulimit -n 256
start_ticket_box
MIB=$((1024 * 1024))
READY='^ready'

declare -A to
holder() { # NAME LEASE: a process of that lease, which does what it is told
    local in ticket
    mkfifo "$TMP/$1.in"
    exec {in}<>"$TMP/$1.in"
    ticket=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" gpubox 3600 "lease=$2" owner=1000 shared=$((512 * MIB)) "$GPU")
    start "$1" env LD_PRELOAD="$(preload_for_sanitizers)" LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$ticket" \
        bash -c 'exec "$1" <"$2"' - "$BUILD/tests/token-holder" "$TMP/$1.in"
    to[$1]=$in
    await_line "$1" "$READY"
}
tell() {
    local name=$1
    shift
    echo "$*" >&"${to[$name]}"
    await_line "$name"
}

holder greedy one
holder modest two
# A quarter of 256 descriptors is for what is shared, and a quarter of that for one session.
count=0
while tell greedy physical $((2 * MIB)) && [[ $LINE == token* ]] && [ $count -lt 100 ]; do count=$((count + 1)); done
is "$count" 16 "a session shares memory by as many descriptors as are its part"
logs "$BOX_LOG" 'limit is reached resource=export-files of=session most=16' "the refusal is in the log"
holder modest2 two
tell modest physical $((2 * MIB))
like "$LINE" '^token ' "another lease shares memory"
for ((i = 0; i < 100; i++)); do tell modest2 open "$(printf '72677075736872310%0111d' "$i")"; done
[ "$(grep -c 'shows a token that is not good' "$BOX_LOG")" -le 5 ] && pass "wrong tokens fill no log" ||
    fail "wrong tokens fill no log"
tell modest share $((2 * MIB))
like "$LINE" '^token ' "and it computes"
done_testing
