#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a communicator takes of a GPU is counted: where the lease's budget is too small for it there is none, and says why.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/tickets.sh"
. "$(dirname "$0")/ranks.sh"
LOST=$BUILD/tests/nccl/ranks_lost
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
done_testing
