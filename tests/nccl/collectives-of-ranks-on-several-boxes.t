#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All collectives against what the host computes: natively, on one box and on two, with the ranks in one process or in several.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/ranks.sh"
COLLECT=$BUILD/tests/nccl/ranks_collect

# together WHERE RANKS FIRST,COUNT...: processes with these ranks pass all of their checks.
together() {
    local where=$1 ranks=$2 own
    shift 2
    for own; do begin "$where-$own" "$COLLECT" "$ranks" "${own%,*}" "${own#*,}" "$TMP/$where.id"; done
    for own; do
        ok "$where: ranks $own of $ranks" await_line "$where-$own" '^1\.\.[4-9]'
        unlike "$(cat "$TMP/$where-$own.log")" . "$where: with nothing to say about it"
    done
}

environment=("LD_LIBRARY_PATH=$BUILD/lib/nccl:$BUILD/lib/sim:$BUILD/lib" RGPU_SIM_DEVICES=2 "RGPU_SIM_STATE=$TMP/native")
together native 5 0,3 3,2
start_box --devices sim:1
first=$BOX
start_box --devices sim:1
BOXES=$first,$BOX
for transport in shm tcp; do
    environment=("RGPU_TRANSPORT=$transport")
    together "two-boxes-$transport" 2 0,1 1,1
done
environment=()
together two-boxes-mixed 3 0,2 2,1

# One box that is another host as far as the program can tell.
start_box --devices sim:4
BOXES=$BOX
environment=(RGPU_TRANSPORT=tcp)
together one-box 4 0,2 2,1 3,1

# Two boxes of one host whose GPUs reach each other: puts into memory of another process are copies of the GPU.
export RGPU_SIM_STATE=$TMP/gpus
start_box --devices sim:1 --peer-gpus=yes
first=$BOX
start_box --devices sim:1 --peer-gpus=yes
BOXES=$first,$BOX
unset RGPU_SIM_STATE
environment=(RGPU_LOG=info)
for own in 0,1 1,1; do begin "near-$own" "$COLLECT" 2 "${own%,*}" "${own#*,}" "$TMP/near.id"; done
for own in 0,1 1,1; do
    ok "near: ranks $own of 2" await_line "near-$own" '^1\.\.[4-9]'
    unlike "$(cat "$TMP/near-$own.log")" 'failed at' "near: ranks $own are right"
    logs "$TMP/near-$own.log" 'the GPU of one box reaches another' "near: the GPU of ranks $own reaches the other process's memory"
done
done_testing
