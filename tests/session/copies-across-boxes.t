#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies between GPUs of two boxes: as between two GPUs of one, and in the order of streams. Nobody waits for a box that
# is gone.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
PEERS=$BUILD/tests/programs/peers
start_box --devices sim:2
run=(on_box RGPU_LOG=warn)
run_program "two GPUs of one box" "$PEERS"
start_box --devices sim:1
pids=($BOX_PID) first=$BOX
start_box --devices sim:1
pids+=($BOX_PID) BOXES=$first,$BOX
for transport in shm tcp; do
    run=(on_box RGPU_LOG=warn "RGPU_TRANSPORT=$transport")
    run_program "$transport: GPUs of two boxes" "$PEERS"
    like "$(cat "$TMP/program.err")" 'a copy between two boxes cannot be captured' \
        "$transport: the log says that no graph holds such copies"
done

# lose TRANSPORT LOST WITH: the worker of one box is killed while copies in a stream of the box WITH are under way.
lose() {
    local name=lost-$1-$2-$3 worker
    mkfifo "$TMP/$name.fifo"
    exec {answer}<>"$TMP/$name.fifo"
    start "$name" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOXES" RGPU_LOG=error \
        "RGPU_TRANSPORT=$1" sh -c "exec '$PEERS' lost $2 $3 <'$TMP/$name.fifo'"
    await_line "$name" '^# copies' || bail "the program does not come to its copies"
    for worker in $(pgrep -P "${pids[$2]}" rgpu-worker); do kill -KILL "$worker" 2>/dev/null || true; done
    echo gone >&$answer
    ok "$1: box $2 is lost, streams of box $3: copies fail, later ones as well" await_line "$name" '^ok 2 '
    if [ "$2" = "$3" ]; then
        ok "$1: box $2 is lost: the other one is usable" await_line "$name" '^ok 4 '
    else
        like "$(cat "$TMP/$name.log")" 'a copy between boxes has failed.* other=' "$1: the log names the box"
    fi
}
for transport in shm tcp; do
    for lost in 0 1; do
        lose $transport $lost 0
        lose $transport $lost 1
    done
done
done_testing
