#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The program that loads a broker works, with pools so small that its figures say nothing.
. "$(dirname "$0")/broker.sh"

cases=(size)
[ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null || cases+=(full-disk)
preload=$(preload_for_sanitizers)
[ -z "$preload" ] || skip_all "the program preloads a disk of its own"
status=0
BENCH_BOXES=2,3 BENCH_SAMPLES=4 BENCH_WAITERS=9 BENCH_IDLE=1 "$TOP/bench/broker_load.py" "$BUILD" "${cases[@]}" >"$TMP/rows" 2>"$TMP/table" || status=$?
is "$status" 0 "it comes to its end"
[ "$status" = 0 ] || diag "$(cat "$TMP/table")"
for size in 2 3; do
    for case in quiet page waiters; do
        ok "$size boxes, $case: acquire, release and look were measured" \
            grep -qE "\"boxes\": $size, \"case\": \"$case\".*acquire_p99.*release_p99.*look_p99" "$TMP/rows"
    done
done
like "$(cat "$TMP/table")" '3 boxes, quiet +acquire p99 to 2 boxes +[0-9.]+ +<= 2 ' "a table has the aims"
[ ${#cases[@]} = 1 ] || like "$(cat "$TMP/table")" 'full disk .* 503 503 40 of 40 .* yes' "on a full disk leases end, and no more"
done_testing
