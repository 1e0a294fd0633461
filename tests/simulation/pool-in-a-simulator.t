#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A simulated pool under random faults keeps its promises, and a seed gives the same life again. `make check-world` takes
# seeds that nobody has tried, and more time. SIMULATE_SECONDS=600 takes as long.
. "$(dirname "$0")/../lib.sh"

COMMIT=$(git -C "$TOP" rev-parse --short HEAD 2>/dev/null || echo unknown)
export COMMIT
first=1 seconds=${SIMULATE_SECONDS:-12}
[ -z "${WORLD:-}" ] || first=$((RANDOM * 1000000 + RANDOM)) seconds=${SIMULATE_SECONDS:-50}
one_life() { "$BUILD/tests/simulate" --seed 3 --minutes 3 --boxes 5 --users 20 --verbose | grep -v processor_seconds | cksum; }

is "$(one_life)" "$(one_life)" "a seed has one life"
status=0
"$BUILD/tests/simulate" --seeds "$first-1000000000000" --minutes 5 --boxes 8 --users 30 --seconds "$seconds" --stop \
    >"$TMP/campaign" || status=$?
is "$status" 0 "the promises hold in all worlds"
grep -E "^BROKEN|broken=" "$TMP/campaign" | sed 's/^/# /'
done_testing
