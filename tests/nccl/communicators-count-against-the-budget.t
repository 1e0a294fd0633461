#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a communicator takes of a GPU is counted: where the lease's budget is too small for it there is none, and says why.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/tickets.sh"
. "$(dirname "$0")/ranks.sh"
start_ticket_box
# meet NAME MIB: a communicator of one rank in a lease with that budget.
meet() {
    local ticket
    ticket=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" gpubox 3600 "lease=$1" owner=1000 shared=$(($2 * 1024 * 1024)) "$GPU")
    environment=("RGPU_TICKET=$ticket")
    BOXES='' begin "$1" "$LOST" 1 0 1 "$TMP/$1.id" meet
}
meet small 24
ok "a budget that is too small is told" await_line small '^# met 1 cuMemAlloc_v2 gave CUDA_ERROR_OUT_OF_MEMORY'
meet large 128
ok "one that is large enough holds it" await_line large '^# met 0'

# What the site's NCCL takes, inside the box, which is our own library here.
start_ticket_box --nccl="$BUILD/lib/nccl/libnccl.so.2" --peer-gpus=yes
# meet_inside NAME MIB: two ranks, each with a process.
meet_inside() {
    local ticket rank
    ticket=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" gpubox 3600 "lease=$1" owner=1000 shared=$(($2 * 1024 * 1024)) "$GPU")
    environment=("RGPU_TICKET=$ticket" NCCL_DEBUG=INFO)
    for rank in 0 1; do BOXES='' begin "$1-$rank" "$LOST" 2 $rank 1 "$TMP/$1.id" meet; done
}
meet_inside narrow 140
ok "ranks that the site's NCCL has no room for are told what becomes of it" await_line narrow-0 '^# met [16] '
logs "$TMP/narrow-0.log" 'takes links between the boxes: NCCL takes [0-9]+ bytes, which the budget does not allow' \
    "its memory counts"
meet_inside wide 640
ok "where it has room they meet" await_line wide-0 '^# met 0'
logs "$TMP/wide-0.log" "uses the boxes' NCCL" "by it"
done_testing
