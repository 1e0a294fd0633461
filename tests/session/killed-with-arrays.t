#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a client, and of its worker, in the middle of work with arrays, textures, surfaces and managed memory: the
# GPU's memory comes back, the session beside it goes on, and a program whose worker is gone ends.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
start_box --devices sim:1
run_images() {
    start "$1" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "RGPU_TRANSPORT=$transport" "$BUILD/tests/images-running"
    await_line "$1" '^running' || bail "no work with arrays"
}
ended() { ! kill -0 "$1" 2>/dev/null; }
for transport in shm tcp; do
    start_session "other-$transport" "RGPU_TRANSPORT=$transport"
    other=$PID
    beside=$(workers)
    before=$(free_mib)
    run_images "killed-$transport"
    ok "$transport: work goes on, and memory is held" test "$(free_mib)" -lt $((before - 300))
    stop "$PID" KILL
    ok "$transport: the memory of its client is free again" comes_true free_again "$before"
    run_images "orphan-$transport"
    orphan=$PID
    for pid in $(workers); do grep -qx "$pid" <<<"$beside" || kill -KILL "$pid"; done
    ok "$transport: without its worker a program ends" await "the end" ended "$orphan"
    ok "$transport: and its memory is free again" comes_true free_again "$before"
    ok "$transport: the session beside them goes on" goes_on "other-$transport"
    stop "$other"
done
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
