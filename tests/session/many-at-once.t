#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many client processes at once: each gets a worker of its own and right results, although only
# one worker per GPU is kept warm.
. "$(dirname "$0")/../lib.sh"
start_box --devices sim:2
pids=()
for i in {1..12}; do
    transport=shm
    [ $((i % 3)) != 0 ] || transport=tcp
    on_box "RGPU_TRANSPORT=$transport" timeout 100 "$BUILD/tests/programs/reduce" \
        >"$TMP/out.$i" 2>&1 &
    pids+=($!)
done
failed=0
for i in "${!pids[@]}"; do
    wait "${pids[$i]}" || { failed=$((failed + 1)); diag "$(tail -n 5 "$TMP/out.$((i + 1))")"; }
done
is $failed 0 "twelve programs at once compute on two GPUs"
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
