#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several boxes in RGPU_BOXES are one list of devices, in the order of the list.
. "$(dirname "$0")/../lib.sh"
start_box --devices sim:2
first=$BOX
start_box --devices sim:1
BOXES=$first,$BOX
for transport in shm tcp; do
    status=0
    on_box "RGPU_TRANSPORT=$transport" "$BUILD/examples/vector" >"$TMP/out" 2>"$TMP/err" ||
        status=$?
    is $status 0 "$transport: a program computes on the devices of both boxes"
    [ $status = 0 ] || diag "$(tail -n 10 "$TMP/out" "$TMP/err")"
    is "$(grep -c ' 0 wrong$' "$TMP/out")" 3 "$transport: on all three"
done
BOXES=$BOX,127.0.0.1:1
fails "a list with a box that is not there is an error" on_box "$BUILD/examples/vector"
done_testing
