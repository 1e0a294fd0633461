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
    # Which way the two boxes find has nothing to do with the client's.
    for way in shm tcp; do
        run=(on_box RGPU_LOG=info "RGPU_TRANSPORT=$transport" "RGPU_PEER_LINK=${way/shm/auto}")
        run_program "$transport: GPUs of two boxes, by $way" "$PEERS"
        like "$(cat "$TMP/program.err")" "copies between boxes .*by=$way" "$transport: which have that link of their own"
        like "$(cat "$TMP/program.err")" 'a copy between two boxes cannot be captured' \
            "$transport: the log says that no graph holds such copies"
    done
    run=(on_box RGPU_LOG=info "RGPU_TRANSPORT=$transport" RGPU_PEER_LINK=client)
    run_program "$transport: the same by way of the client" "$PEERS"
    like "$(cat "$TMP/program.err")" 'copies between boxes .*by=client' "$transport: for which a variable asks"
done

# A driver that loads code late waits for the GPU then, and lets no other call pass.
export RGPU_SIM_LAZY=1
start_box --devices sim:1
late=$BOX
start_box --devices sim:1
unset RGPU_SIM_LAZY
early=$BOXES BOXES=$late,$BOX
run=(on_box RGPU_LOG=warn)
run_program "a kernel is launched for the first time while a stream waits for another box" "$BUILD/tests/programs/late-code"
BOXES=$early

# Boxes that have their software GPUs in one memory, as the GPUs of one host reach each other.
export RGPU_SIM_STATE=$TMP/gpus
start_box --devices sim:1 --peer-gpus=yes
near_pids=("$BOX_PID") near=$BOX
start_box --devices sim:1 --peer-gpus=yes
near_pids+=("$BOX_PID") near+=,$BOX
unset RGPU_SIM_STATE
far=$BOXES BOXES=$near
for transport in shm tcp; do
    run=(on_box RGPU_LOG=info "RGPU_TRANSPORT=$transport")
    run_program "$transport: GPUs of two boxes that reach each other" "$PEERS"
    like "$(cat "$TMP/program.err")" 'the GPU of one box reaches another' "$transport: and do"
    run_program "$transport: memory that is mapped piece by piece" "$PEERS" mapped
    like "$(cat "$TMP/program.err")" 'the GPU of one box reaches another' "$transport: is reached as well"
    run=(on_box RGPU_LOG=info "RGPU_TRANSPORT=$transport" RGPU_PEER_LINK=tcp)
    run_program "$transport: the same over the link" "$PEERS"
    unlike "$(cat "$TMP/program.err")" 'the GPU of one box reaches another' "$transport: for which a variable asks"
done
BOXES=$far

# Boxes that could, and may not.
export RGPU_SIM_STATE=$TMP/more-gpus
start_box --devices sim:1
unwilling=$BOX
start_box --devices sim:1
unset RGPU_SIM_STATE
BOXES=$unwilling,$BOX
run=(on_box RGPU_LOG=info)
run_program "boxes that may not reach each other's GPUs" "$PEERS"
unlike "$(cat "$TMP/program.err")" 'the GPU of one box reaches another' "and do not"
BOXES=$far

losses=0
# lose TRANSPORT LINK LOST WITH: the worker of one box is killed while copies in a stream of the box WITH are under way.
lose() {
    local name=lost-$((++losses)) worker
    mkfifo "$TMP/$name.fifo"
    exec {answer}<>"$TMP/$name.fifo"
    start "$name" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOXES" RGPU_LOG=error \
        "RGPU_TRANSPORT=$1" "RGPU_PEER_LINK=$2" sh -c "exec '$PEERS' lost $3 $4 <'$TMP/$name.fifo'"
    await_line "$name" '^# copies' || bail "the program does not come to its copies"
    for worker in $(spawned "${pids[$3]}" rgpu-worker); do kill -KILL "$worker" 2>/dev/null || true; done
    echo gone >&$answer
    ok "$1, $2: box $3 is lost, streams of box $4: copies fail, later ones as well" await_line "$name" '^ok 2 '
    if [ "$3" = "$4" ]; then
        ok "$1, $2: box $3 is lost: the other one is usable" await_line "$name" '^ok 4 '
    else
        logs "$TMP/$name.log" '(a copy between boxes has failed.* other|session lost box)=' "$1, $2: the log names the box"
    fi
}
for how in "shm auto" "tcp client" "shm gpu"; do
    [ "${how#* }" != gpu ] || { BOXES=$near pids=("${near_pids[@]}") how="shm auto"; }
    for lost in 0 1; do
        # shellcheck disable=SC2086
        lose $how $lost 0
        # shellcheck disable=SC2086
        lose $how $lost 1
    done
done
done_testing
