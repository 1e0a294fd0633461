#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Streams of one box wait for events of another, as they do for those of another GPU of one box; what
# cannot be across boxes is an error; and nobody waits for a box that is gone.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
CROSSING=$BUILD/tests/programs/crossing
start_box --devices sim:2
run=(on_box RGPU_LOG=warn)
run_program "two GPUs of one box" "$CROSSING"
start_box --devices sim:1
first=$BOX first_pid=$BOX_PID
start_box --devices sim:1
BOXES=$first,$BOX
for transport in shm tcp; do
    run=(on_box RGPU_LOG=warn "RGPU_TRANSPORT=$transport")
    run_program "$transport: events across two boxes" "$CROSSING"
    like "$(cat "$TMP/program.err")" 'objects of two boxes name=cuEventElapsedTime' \
        "$transport: the log names a call that cannot be across boxes"
    like "$(cat "$TMP/program.err")" 'no graph is of two boxes' "$transport: and says that no graph is"
done

for transport in shm tcp; do
    mkfifo "$TMP/answer.$transport"
    exec {answer}<>"$TMP/answer.$transport"
    start "lost-$transport" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOXES" RGPU_LOG=error \
        "RGPU_TRANSPORT=$transport" sh -c "exec '$CROSSING' lost <'$TMP/answer.$transport'"
    await_line "lost-$transport" '^# waits' || bail "the program does not come to its wait"
    for worker in $(spawned "$first_pid" rgpu-worker); do kill -KILL "$worker" 2>/dev/null || true; done
    echo gone >&$answer
    ok "$transport: a stream that waits for a lost box fails" await_line "lost-$transport" '^ok 1 '
    logs "$TMP/lost-$transport.log" 'event that will not come' \
        "$transport: the log says why"
done
done_testing
