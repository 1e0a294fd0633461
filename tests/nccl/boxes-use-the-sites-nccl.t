#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Boxes with an NCCL of the site carry out collectives by it, inside their workers. Our own library is that one here: natively, as
# there, it knows nothing of boxes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/ranks.sh"
COLLECT=$BUILD/tests/nccl/ranks_collect
SITE=$BUILD/lib/nccl/libnccl.so.2

# Both boxes see one software GPU, as those of one host see each other's with peer_gpus.
export RGPU_SIM_STATE=$TMP/gpus
start_box --devices sim:1 --peer-gpus=yes --nccl="$SITE" --admin-socket "$TMP/first"
first=$BOX
start_box --devices sim:1 --peer-gpus=yes --nccl="$SITE"
second=$BOX second_pid=$BOX_PID
start_box --devices sim:1 --peer-gpus=yes
third=$BOX
unset RGPU_SIM_STATE

# together NAME RANKS FIRST,COUNT...: processes with these ranks pass all of their checks.
together() {
    local name=$1 ranks=$2 own
    shift 2
    for own; do begin "$name-$own" "$COLLECT" "$ranks" "${own%,*}" "${own#*,}" "$TMP/$name.id"; done
    for own; do
        ok "$name: ranks $own of $ranks" await_line "$name-$own" '^1\.\.[4-9]'
        unlike "$(cat "$TMP/$name-$own.log")" 'failed at' "$name: and all that they compute is right"
        logs "$TMP/$name-$own.log" "$WANTED" "$name: they say by what"
    done
}

environment=(NCCL_DEBUG=INFO)
BOXES=$first,$second WANTED="uses the boxes' NCCL, version 22809"
together processes 2 0,1 1,1
together process 2 0,2
together three 3 0,2 2,1
BOXES=$first,$third WANTED='takes links between the boxes: a box has no NCCL of its own .rank 1'
together unequal 2 0,1 1,1

BOXES=$first,$second
begin seen-0 "$LOST" 2 0 1 "$TMP/seen.id" stay
begin seen-1 "$LOST" 2 1 1 "$TMP/seen.id" stay
await_line seen-0 '^# stays' || bail "they do not meet"
shown() { [[ $("$BUILD/bin/rgpuctl" sessions --socket "$TMP/first") = *"site's NCCL 2.28.9, rank 0 of 2"* ]]; }
ok "the session shows it" await "its line" shown
kill -KILL "${line_pid[seen-0]}" "${line_pid[seen-1]}"
bereave process kill_process process-1
ok "process: nothing more is done with it" await_line process-0 '^ok 2 '
ok "process: the GPU is usable" await_line process-0 '^# word is written'
kill_box() { kill -KILL "$second_pid"; }
bereave box kill_box
ok "box: nothing more is done with it" await_line box-0 '^ok 2 '
done_testing
