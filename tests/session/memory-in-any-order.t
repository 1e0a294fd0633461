#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory taken and freed by all kinds of calls, in any order, stays within the budget of a share at every moment, and all of it is
# free in the end. The software GPU ends a worker that has more than the budget and its context. In pages, code and streams take
# memory, too. SEEDS of the environment are run in place of those below, each of ROUNDS rounds.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tickets.sh"
BUDGET=$((256 << 20)) CONTEXT=$((64 << 20))
export RGPU_SIM_CONTEXT_COST=$CONTEXT RGPU_SIM_LIMIT=$((BUDGET + CONTEXT)) RGPU_SIM_MEMORY=1G
share() { "$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" gpubox 3600 lease="$1" shared=$BUDGET "$GPU"; }
check_seeds() {
    start_ticket_box --gpu-mode shared
    for seed in ${SEEDS:-1 2 3 4 5 6}; do
        transport=shm
        [ $((seed % 3)) != 0 ] || transport=tcp
        status=0
        with_ticket "$(share "lease-$seed")" RGPU_TRANSPORT=$transport "$BUILD/tests/memory-in-any-order" "$seed" "${ROUNDS:-12}" \
            >"$TMP/out" 2>&1 || status=$?
        is "$status" 0 "seed $seed over $transport, $1: never more than the share, and all is free in the end"
        [ "$status" = 0 ] || sed 's/^/# /' "$TMP/out"
    done
    unlike "$(cat "$BOX_LOG")" 'RGPU_SIM_LIMIT|signal' "no worker had more for a moment"
}
check_seeds "in bytes"
export RGPU_SIM_PAGE=2M RGPU_SIM_CODE=16 RGPU_SIM_STREAM_COST=512K
check_seeds "in pages"
[ -n "${SEEDS:-}" ] || SEEDS="10 11 12 86" ROUNDS=25 check_seeds "in pages, for longer"
done_testing
