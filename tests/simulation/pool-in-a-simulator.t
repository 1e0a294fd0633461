#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A simulated pool under random faults keeps its promises, and a seed gives the same life again.
# SIMULATE_SECONDS=60 takes longer.
. "$(dirname "$0")/../lib.sh"

COMMIT=$(git -C "$TOP" rev-parse --short HEAD 2>/dev/null)
export COMMIT
one_life() { "$BUILD/tests/simulate" --seed 3 --minutes 3 --boxes 5 --users 20 --verbose | grep -v processor_seconds | cksum; }

is "$(one_life)" "$(one_life)" "a seed has one life"
status=0
"$BUILD/tests/simulate" --seeds "$((RANDOM * 1000))-1000000000" --minutes 5 --boxes 8 --users 30 \
    --seconds "${SIMULATE_SECONDS:-12}" --stop >"$TMP/campaign" || status=$?
is "$status" 0 "worlds of a random seed keep the promises"
grep -E "^BROKEN|broken=" "$TMP/campaign" | sed 's/^/# /'
done_testing
