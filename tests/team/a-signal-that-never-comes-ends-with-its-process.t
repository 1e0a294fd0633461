#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program whose stream waits for a signal that never comes is killed: its sessions end, and the GPUs are usable again.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/session/faults.sh"
start_box --devices sim:1
first=$BOX
start_box --devices sim:1
BOXES=$first,$BOX run=(on_box)
free_before=$(BOXES=$first free_mib)
mkfifo "$TMP/never-said"
exec {answer}<>"$TMP/never-said"
for transport in shm tcp; do
    start "$transport" env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_BOXES=$BOXES" "RGPU_TRANSPORT=$transport" \
        sh -c "exec '$BUILD/tests/team/bereaved' <'$TMP/never-said'"
    await_line "$transport" '^# waits' || bail "the program does not come to its wait"
    unlike "$(BOXES=$first free_mib)" "^$free_before\$" "$transport: a program waits, and has memory"
    kill -KILL "$PID"
    BOXES=$first
    ok "$transport: when it is killed its memory is free" comes_true free_again "$free_before"
    BOXES=$first,$BOX
    run_program "$transport: and others use the GPUs" "$BUILD/tests/team/puts"
done
done_testing
