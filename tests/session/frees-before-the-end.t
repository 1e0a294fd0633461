#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A client does not wait for the answer of a call that frees memory, so the box must not end the context before it has
# freed it: also where several programs do so at once.
. "$(dirname "$0")/../lib.sh"
start_box --devices sim:1
for transport in tcp shm; do
    pids=() failed=0
    for i in {1..6}; do
        on_box RGPU_TRANSPORT=$transport timeout 100 "$BUILD/tests/freed-at-the-end" 200 >"$TMP/out.$i" 2>&1 &
        pids+=($!)
    done
    for i in "${!pids[@]}"; do
        wait "${pids[$i]}" || { failed=$((failed + 1)); diag "$(tail -n 3 "$TMP/out.$((i + 1))")"; }
    done
    is $failed 0 "six programs free memory and end their context behind that, over $transport"
done
done_testing
