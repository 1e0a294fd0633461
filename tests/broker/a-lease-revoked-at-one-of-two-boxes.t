#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease is revoked while its two boxes copy for it, and one of them cannot hear of it: the program gets an error that
# names a box, although the other session is still there.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"
start_broker
start_cuda_box box1 --devices sim:1
start_cuda_box box2 --devices sim:1
deaf=$BOX_PID
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
mkfifo "$TMP/answer"
exec {answer}<>"$TMP/answer"
for with in 0 1; do
    start "job$with" env RGPU_LOG=error "$ctl" run -n 2 -- sh -c "exec '$BUILD/tests/programs/peers' lost 0 $with <'$TMP/answer'"
    await_line "job$with" '^# copies' || bail "the program does not come to its copies"
    lease=$("$ctl" leases --json | sed -n 's/.*"id":"\([^"]*\)".*/\1/p' | head -n 1)
    kill -STOP "$deaf"
    ok "the lease is revoked" "$ctl" revoke "$lease"
    echo gone >&$answer
    ok "copies in a stream of device $with fail, and later ones as well" await_line "job$with" '^ok 2 '
    logs "$TMP/job$with.log" 'box[= ][^ ]*box1' "the program's log names the box"
    kill -CONT "$deaf"
    ok "the other box ends its session when it hears of it" await "no lease" sh -c "[ -z \"\$('$ctl' leases --json)\" ]"
    stop "${line_pid[job$with]}"
done
done_testing
