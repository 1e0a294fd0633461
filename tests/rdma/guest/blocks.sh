#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: copies with staging blocks of several sizes and numbers.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
run=(over_rdma)
for blocks in "64K 16" "4M 2" "auto 2" "512K 32 --pipeline=no"; do
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
done_testing
