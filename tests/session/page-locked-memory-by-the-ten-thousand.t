#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs have more small page-locked allocations than a process may have mappings, and allocate again and again. A process
# that has no mapping left gets an error of that call, and its session goes on.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
start_box
memory=$BUILD/tests/host-memory
for transport in shm tcp; do
    run=(on_box "RGPU_TRANSPORT=$transport")
    run_program "$transport: 70,000 of 4 KiB at once" "$memory" many 70000 4096
    run_program "$transport: 70,000 of 64 KiB, one after the other" "$memory" again 70000 65536
    run_program "$transport: freed below copies" "$memory" busy
    run_program "$transport: while a stream is captured" "$memory" captured
    run_program "$transport: a process that has no mapping left" "$memory" full
done
run=(on_box RGPU_TRANSPORT=shm)
run_program "shm: in a child of a fork" "$memory" forked
echo 400 >"$TMP/few"
fewer=(unshare -rm bash -c 'mount --bind "$1" /proc/sys/vm/max_map_count && shift && exec "$@"' sh "$TMP/few")
if "${fewer[@]}" true 2>/dev/null; then
    run_program "shm: a quarter of the mappings is kept for all else" "${fewer[@]}" "$memory" until-refused 300 1052672
else
    skip "no mounts of its own can be had"
fi
run_program "the box serves the next program" "$BUILD/tests/programs/saxpy"
done_testing
