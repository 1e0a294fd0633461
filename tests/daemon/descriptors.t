#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many sessions, refused clients and crashed workers leave no descriptor and no process behind.
. "$(dirname "$0")/stub.sh"

start_stub_box
descriptors() { ls "/proc/$BOX_PID/fd" | wc -l; }
children() { spawned "$BOX_PID" stub-worker | wc -l; }
settled() { [ "$(children)" = 1 ] && [ "$(admin devices | member warm)" = 1 ]; }
some_of_each() {
    for _ in 1 2 3 4 5; do
        "$CLIENT" "$BOX" echo hi
        "$CLIENT" "$BOX" send a closed
        "$BUILD/tests/hostile-client" "$BOX" garbage
        "$BUILD/tests/hostile-client" "$BOX" truncated
    done >/dev/null || true
}
some_of_each
await "a settled box" settled
before=$(descriptors)
for _ in 1 2 3 4; do some_of_each; done
await "a settled box" settled
is "$(descriptors)" "$before" "descriptors"
is "$(children)" 1 "one warm worker and no other"
worker=$(spawned "$BOX_PID" stub-worker)
is "$(ls "/proc/$worker/fd" | tr '\n' ' ')" "0 1 2 3 4 5 6 7 " \
    "a worker has its sockets and the file of the software GPUs, and nothing of the supervisor's"
done_testing
