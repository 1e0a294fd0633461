#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Staging blocks of any size and number that the settings allow, over shared memory and TCP; others are
# refused with a reason.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
fails "a size that is no multiple of 64K is refused" \
    "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 --block-size 100000
like "$(cat "$TMP/ok.out")" 'block_size=100000 is not auto or a size from 64K to 65536K in steps of 64K' \
    "with what is allowed"
fails "memory that is too little for a block in each direction is refused" \
    "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 --block-size 64K \
    --block-count 4
like "$(cat "$TMP/ok.out")" 'block_size=64K times block_count=4 is less than the 1024K' "with the least"

for blocks in "64K 16" "4M 2" "512K 2" "auto 32" "auto 2"; do
    read -r size count <<<"$blocks"
    start_box --devices sim:1 --block-size "$size" --block-count "$count"
    for transport in shm tcp; do
        run=(on_box RGPU_TRANSPORT=$transport)
        for program in large pinned rectangles; do
            run_program "$program over $transport with $count blocks of $size" \
                "$BUILD/tests/programs/$program"
        done
    done
    stop "$BOX_PID"
done
start_box --devices sim:1 --pipeline=no
run=(on_box RGPU_TRANSPORT=tcp)
run_program "one block at a time over tcp" "$BUILD/tests/programs/large"
done_testing
