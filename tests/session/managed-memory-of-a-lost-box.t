#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Who touches managed memory whose contents were on a box that is gone is told so, and ends as with a bad address; so does
# who waits at such an access. A client that is killed leaves no memory behind.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
start_box --devices sim:1
free=$(free_mib)

# touch NAME [ARGUMENT]: the program, ready to touch; line by line from the descriptor 7.
touch_memory() {
    local name=$1
    shift
    rm -f "$TMP/$name.in"
    mkfifo "$TMP/$name.in"
    exec 7<>"$TMP/$name.in"
    start "$name" bash -c 'exec env LD_LIBRARY_PATH="$0" "${@:2}" <"$1"' "$BUILD/lib" "$TMP/$name.in" RGPU_BOXES="$BOX" \
        "RGPU_TRANSPORT=$transport" "RGPU_MANAGED_FAULTS=$faults" "$BUILD/tests/managed-touch" "$@"
    await_line "$name" '^ready' || bail "$name does not start"
}
ended() { ! kill -0 "$PID" 2>/dev/null; }
kill_workers() { for pid in $(workers); do kill -KILL "$pid"; done; }

for transport in shm tcp; do
    for faults in userfaultfd signals; do
        touch_memory "there-$transport-$faults"
        echo go >&7
        ok "$transport, $faults: while the box is there the contents come" await_line "there-$transport-$faults" '^touched 7'
        touch_memory "gone-$transport-$faults"
        kill_workers
        echo go >&7
        ok "$transport, $faults: with it gone the program ends" await "it ends" ended
        wait "$PID" 2>/dev/null && status=0 || status=$?
        is "$status" 139 "$transport, $faults: as with a bad address"
        logs "$TMP/gone-$transport-$faults.log" "whose contents were on box" "$transport, $faults: and is told why"
        touch_memory "busy-$transport-$faults" busy
        kill_workers
        ok "$transport, $faults: who waits for the GPU ends" await "it ends" ended
    done
done
touch_memory killed
kill -KILL "$PID"
ok "a killed client leaves no memory behind" await "memory is free" free_again "$free"
done_testing
