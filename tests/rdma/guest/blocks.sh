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
# told COPIES: what the box has of the times of blocks for them.
told() { "$BUILD/bin/rgpuctl" paths --socket "$RDMA_ADMIN" --json | grep "\"copies\":\"$1, by device\""; }
start_rdma_box --devices sim:1 --gpudirect no
# compared WAY: copies until they have been timed in blocks of all sizes.
compared() {
    over_rdma "$BUILD/tests/programs/repeated" 2359296 64 >/dev/null &&
        told "$1" | grep -q '"one-sided":.*"small-blocks":.*"large-blocks":'
}
for way in to from; do ok "blocks $way the GPU are compared" await "times of all sizes" compared $way; done
done_testing
