#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program whose stream, or kernel, waits for a signal that never comes is killed: its sessions end, and the GPUs are usable again.
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
# waits_in_vain TRANSPORT PROGRAM...
waits_in_vain() {
    local name=$1-$(basename "$2") what="$1, $(basename "$2")"
    start "$name" env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_BOXES=$BOXES" "RGPU_TRANSPORT=$1" \
        sh -c "exec ${*:2} <'$TMP/never-said'"
    await_line "$name" '^# waits' || bail "the program does not come to its wait"
    unlike "$(BOXES=$first free_mib)" "^$free_before\$" "$what: a program waits, and has memory"
    kill -KILL "$PID"
    BOXES=$first
    ok "$what: when it is killed its memory is free" comes_true free_again "$free_before"
    BOXES=$first,$BOX
    run_program "$what: and others use the GPUs" "$BUILD/tests/team/puts"
}
for transport in shm tcp; do
    waits_in_vain $transport "$BUILD/tests/team/bereaved"
    waits_in_vain $transport "$BUILD/tests/team/ranks" 1 wait
done
done_testing
