#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Kernels put into memory of another box's GPU by way of their proxy queues, over each kind of link: put requests that make no sense, or memory
# that is gone, and nothing is written outside a window. When the other box goes the kernels are told; when their own program goes
# they go with it.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/session/faults.sh"
FAR=$BUILD/tests/team/far
start_box --devices sim:1
first=$BOX first_log=$BOX_LOG
start_box --devices sim:1
BOXES=$first,$BOX
for link in shm tcp client; do
    run=(on_box "RGPU_PEER_LINK=$link")
    run_program "$link" "$FAR"
done
logs "$first_log" 'a kernel asks for a put that cannot be, and nothing is written .*why="there is no such rank' "the log has what was asked"
logs "$BOX_LOG" "a put of another box's kernel is not into the window" "at both ends"

free_before=$(BOXES=$first free_mib)
mkfifo "$TMP/answers"
exec {answer}<>"$TMP/answers"
# waits NAME MODE: the program waits; its kernels do.
waits() {
    start "$1" env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_BOXES=$first,$BOX" sh -c "exec '$FAR' $2 <'$TMP/answers'"
    await_line "$1" '^# waits' || bail "the program does not come to its wait"
}
waits killed wait
kill -KILL "$PID"
BOXES=$first
ok "when the program is killed its memory is free" comes_true free_again "$free_before"
BOXES=$first,$BOX
run_program "and others use the GPUs" "$FAR"
waits bereaved lost
for worker in $(spawned "$BOX_PID" rgpu-worker); do kill -KILL "$worker" 2>/dev/null || true; done
echo gone >&$answer
ok "when the other box is gone the kernels end, and say so" await_line bereaved '^1\.\.[1-9]'
unlike "$(cat "$TMP/bereaved.log")" 'failed at' "and no check fails"
done_testing
