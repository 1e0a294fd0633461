#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: copies with staging blocks of several sizes and numbers, and sizes that are measured.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
run=(over_rdma)
for blocks in "64K 16" "4M 2" "512K 2" "auto 2" "512K 32 --pipeline=no"; do
    read -r size count others <<<"$blocks"
    start_rdma_box --devices sim:1 --block-size "$size" --block-count "$count" --gpudirect no ${others:-}
    for program in large pinned rectangles; do
        arguments=()
        [ $program != large ] || arguments=(1)
        run_program "$program with $count blocks of $size ${others:-}" \
            "$BUILD/tests/programs/$program" "${arguments[@]}"
    done
    stop "$BOX_PID"
done
# So few that a handful of copies tries them all.
start_rdma_box --devices sim:1 --block-size auto --block-count 4 --gpudirect no
run_program "copies that are measured" "$BUILD/tests/programs/large" 5
like "$(cat "$BOX_LOG")" 'block size to the GPU: [0-9]+K, measured MB/s: 64K [1-9].* 256K [1-9]' \
    "the size of blocks to the GPU is chosen from them"
like "$(cat "$BOX_LOG")" 'block size from the GPU: [0-9]+K, measured MB/s: 64K [1-9].* 256K [1-9]' \
    "and of those from it"
done_testing
