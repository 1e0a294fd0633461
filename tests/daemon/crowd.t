#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many clients at once all get a session, and what was started for them goes again.
. "$(dirname "$0")/stub.sh"

start_stub_box --warm-workers 1
for i in $(seq 20); do
    "$CLIENT" "$BOX" echo hi >"$TMP/client.$i" 2>&1 &
    clients+=($!)
done
served=0
for pid in "${clients[@]}"; do wait "$pid" && served=$((served + 1)); done
is "$served" 20 "every client of a crowd is served"
settled() { [ "$(spawned "$BOX_PID" -c stub-worker)" = 1 ] && [ "$(admin devices | member warm)" = 1 ]; }
ok "the pool settles at its size" await "settling" settled
sessions=$(sed -n 's/.*session=\([0-9]*\) begins.*/\1/p' "$BOX_LOG" | sort -n | tr '\n' ' ')
is "$sessions" "$(seq -s ' ' 20) " "each has a number of its own"
done_testing
