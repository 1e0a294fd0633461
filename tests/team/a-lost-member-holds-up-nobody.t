#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A member of a team whose box is gone: what waits for it goes on, and is told why.
. "$(dirname "$0")/../lib.sh"
start_box --devices sim:1
BOXES=$BOX
start_box --devices sim:1
BOXES+=,$BOX

# bereave NAME TRANSPORT COMMAND...: that is what happens to the box.
bereave() {
    local name=$1 transport=$2 answer
    shift 2
    mkfifo "$TMP/$name.fifo"
    exec {answer}<>"$TMP/$name.fifo"
    start "$name" env "LD_PRELOAD=$(preload_for_sanitizers)" LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOXES" "RGPU_TRANSPORT=$transport" \
        sh -c "exec '$BUILD/tests/team/bereaved' <'$TMP/$name.fifo'"
    await_line "$name" '^# waits' || bail "the program does not come to its wait"
    "$@"
    echo gone >&$answer
    ok "$transport, $*: all is as it should be" await_line "$name" '^1\.\.[1-9]'
    logs "$TMP/$name.log" 'a member of a team is lost member=1' "$transport, $*: the log names the member"
    unlike "$(cat "$TMP/$name.log")" 'failed at' "$transport, $*: no check fails"
}
kill_workers() { for worker in $(spawned "$BOX_PID" rgpu-worker); do kill -KILL "$worker" 2>/dev/null || true; done; }
bereave shm shm kill_workers
bereave tcp tcp kill_workers
done_testing
