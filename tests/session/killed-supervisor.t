#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of the box's supervisor, whose spawner ends with it: no session hangs and no worker stays for ever. With a spawner
# that outlives it, see survives-its-supervisor.t.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
for transport in shm tcp; do
    start_box --devices sim:1
    start_session session "RGPU_TRANSPORT=$transport" RGPU_RECONNECT=2
    client=$PID
    mapfile -t orphans < <(workers)
    kill -KILL "$BOX_PID"
    # Its session either goes on or fails; both are right, hanging is not.
    ok "$transport: the session says something still" await_line session '^(round [1-9][0-9]|error)'
    fails "$transport: a new client gets an error" timeout 30 \
        env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$ENDURE" 1
    stop "$client" KILL
    all_gone() { local p; for p in "${orphans[@]}"; do ! kill -0 "$p" 2>/dev/null || return 1; done; }
    ok "$transport: no worker is left" comes_true all_gone
done
done_testing
