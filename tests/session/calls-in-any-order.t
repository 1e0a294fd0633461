#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Random calls on graphs, virtual memory, pools and events, right and wrong, give through a box what they give natively, and
# memory holds the same. Each seed is a program of 300 calls; 27 found
# that what was brought up to date with a graph called what had gone with it, on the software GPU.
. "$(dirname "$0")/../lib.sh"
start_box --devices sim:1
for seed in ${SEEDS:-1 2 3 4 27}; do
    natively "$BUILD/tests/any-order" "$seed" 300 >"$TMP/alone" 2>&1 || echo "status $?" >>"$TMP/alone"
    for transport in shm tcp; do
        on_box RGPU_TRANSPORT=$transport "$BUILD/tests/any-order" "$seed" 300 >"$TMP/box" 2>&1 || echo "status $?" >>"$TMP/box"
        ok "$transport: seed $seed as natively" diff "$TMP/alone" "$TMP/box"
    done
done
done_testing
