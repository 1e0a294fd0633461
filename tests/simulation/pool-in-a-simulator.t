#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A simulated pool under random faults keeps its promises, and a seed gives the same life again. The seeds are fixed, so that a
# failure is one of the change that it is seen with; `make check-world` takes more of them, SIMULATE_SECONDS=600 as many as fit,
# and `make simulate SEEDS=a-b` others.
. "$(dirname "$0")/../lib.sh"

COMMIT=$(git -C "$TOP" rev-parse --short HEAD 2>/dev/null || echo unknown)
export COMMIT
last=150 seconds=7 step=400
[ -z "${WORLD:-}" ] || last=500 seconds=100 step=20
[ -z "${SIMULATE_SECONDS:-}" ] || last=1000000000000 seconds=$SIMULATE_SECONDS
one_life() { "$BUILD/tests/simulate" --seed 3 --minutes 3 --boxes 5 --users 20 --verbose | grep -v processor_seconds | cksum; }

is "$(one_life)" "$(one_life)" "a seed has one life"
status=0
"$BUILD/tests/simulate" --seeds "1-$last" --minutes 5 --boxes 8 --users 30 --seconds "$seconds" --stop \
    >"$TMP/campaign" || status=$?
is "$status" 0 "the promises hold in all worlds"
grep -E "^BROKEN|broken=" "$TMP/campaign" | sed 's/^/# /'
status=0
"$BUILD/tests/simulate" --seed 1 --minutes 1 --boxes 2 --users 6 --exhaust 1000 --step "$step" >"$TMP/trials" || status=$?
is "$status" 0 "also if any allocation, read, write, sync, point or answer of any kind of message fails"
grep -E "^BROKEN|^exhaustive" "$TMP/trials" | sed 's/^/# /'
done_testing
