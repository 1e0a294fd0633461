#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Where the link shares no memory, kernels get page-locked and registered memory by RGPU_MAPPED_HOST=mirror, with each
# way of noticing what the program touches; without it there is none, and the attributes say so.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
programs=${MANAGED_PROGRAMS:-60}
first=5001
start_box
over_tcp=(on_box RGPU_TRANSPORT=tcp)
run=("${over_tcp[@]}")
run_program "by itself: host and kernels use it" "$BUILD/tests/programs/mapped-host" yes
run_program "by itself: memory that was plain before" "$BUILD/tests/programs/mapped-on-demand"
for kind in page-locked registered mixed; do
    run_program "by itself: random programs $first to $((first + programs - 1)), $kind memory" \
        "$BUILD/tests/programs/managed-random" "$first" "$programs" "$kind"
    first=$((first + programs))
done
run=("${over_tcp[@]}" RGPU_MAPPED_HOST=no)
run_program "there is none where it is refused" "$BUILD/tests/programs/mapped-host" no
for word in auto mirror; do
    run=(on_box RGPU_TRANSPORT=shm "RGPU_MAPPED_HOST=$word")
    run_program "$word: what can be shared is shared" "$BUILD/tests/programs/mapped-host" yes
    run_program "$word: what cannot be shared is mirrored" "$BUILD/tests/programs/mapped-on-demand"
done
ways="userfaultfd signals"
python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(323, 0o2000001) < 0)' || ways=signals
[ "$ways" != signals ] || skip "userfaultfd is not to be had here"
for faults in $ways; do
    run=("${over_tcp[@]}" RGPU_MAPPED_HOST=mirror "RGPU_MANAGED_FAULTS=$faults")
    run_program "$faults: host and kernels use it" "$BUILD/tests/programs/mapped-host" yes
    run_program "$faults: copies, fills and flags are as ever" "$BUILD/tests/programs/pinned"
    run_program "$faults: files that are registered" "$BUILD/tests/programs/registered"
    for kind in page-locked registered mixed; do
        run_program "$faults: random programs $first to $((first + programs - 1)), $kind memory" \
            "$BUILD/tests/programs/managed-random" "$first" "$programs" "$kind"
        first=$((first + programs))
    done
done
output=$(on_box RGPU_MAPPED_HOST=mirrors "$BUILD/tests/programs/saxpy" 2>&1 || true)
like "$output" "RGPU_MAPPED_HOST is not one of auto, no, mirror" "another word is refused"
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
