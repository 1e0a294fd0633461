#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The supervisor with its real worker on software GPUs: stopping, draining, and what a start without
# a driver says.
. "$(dirname "$0")/../lib.sh"


log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
hold() { start "$1" env LD_LIBRARY_PATH="$BUILD/lib" LD_PRELOAD="$(preload_for_sanitizers)" \
    RGPU_BOXES="$BOX" ${2:+"$2"} "$BUILD/tests/hold-memory"; }
ended() { ! [ -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"; }

for transport in shm tcp; do
    start_box --devices sim:2
    hold program$transport RGPU_TRANSPORT=$transport
    await_line program$transport holding || bail "the program did not start"
    client=$PID
    serving=$(sed -n 's/.*session=1 begins pid=\([0-9]*\).*/\1/p' "$BOX_LOG")
    descriptors=$(readlink /proc/"$serving"/fd/* | grep -c socket: || true)
    [ "$descriptors" -le 4 ] && pass "$transport: a worker holds no foreign sockets" ||
        fail "$transport: the worker has $descriptors sockets"
    kill -TERM "$BOX_PID"
    await "draining" log_has 'box state=leaving'
    kill -0 "$client" && pass "$transport: the session outlives the first SIGTERM" ||
        fail "$transport: the session outlives the first SIGTERM"
    kill -TERM "$BOX_PID"
    status=0
    wait "$BOX_PID" || status=$?
    is "$status" 0 "$transport: the second SIGTERM ends the box"
    ok "$transport: its worker has ended" ended "$serving"
    logs "$BOX_LOG" 'session=1 ended .*reason="(the box stops|ended by rgpud)' \
        "$transport: the obituary says who ended it"
    stop "$client" KILL
done

start none "$BUILD/bin/rgpud" --standalone --devices cuda:all --driver "$TMP/libcuda-missing.so" \
    --listen 127.0.0.1:0
status=0
wait "$PID" || status=$?
is "$status" 2 "without its driver library the box does not start"
logs "$TMP/none.log" 'driver=.*libcuda-missing.so cannot be read' "and names the library"
start nosuch "$BUILD/bin/rgpud" --standalone --devices cuda:7 --driver "$BUILD/lib/libcuda-sim.so" \
    --listen 127.0.0.1:0
status=0
wait "$PID" || status=$?
is "$status" 1 "nor without the chosen device"
logs "$TMP/nosuch.log" 'there is no device 7' "and names it"
done_testing
