#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A worker that is stopped answers no checkpoint call, as a driver that hangs: the box gives up after a while, says so, finds
# out how far it came once there is an answer, and loses nothing.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/suspending.sh"

# Otherwise the worker moves the memory itself, and the driver is not asked.
start_box --devices sim:1 --movable-memory no --admin-socket "$TMP/admin" --memory-check 200ms --suspend-timeout 1s
helper_of() { spawned "$BOX_PID" -x rgpu-suspender; }

hold away 10
id=$(last_session)
ok "a session is suspended" ctl suspend "$id"
worker=$(worker_of "$id")
kill -STOP "$worker"
ok "it is to return, and its worker does not answer" ctl resume --no-wait "$id"
ok "that is not waited for for ever" await "the limit" log_has 'suspension=unclear was=returning'
ok "and is said" log_has 'nobody knows whether it is suspended reason="the driver has not answered'
ok "it is found to be suspended still" await "the state" log_has 'suspension=suspended was=unclear'
kill -CONT "$worker"
look away
ok "it returns when its worker answers" await_line away '^right 1$'
is "$(state_of "$id")" "" "and runs"
ok "it can be suspended again" ctl suspend "$id"
ok "and resumed" ctl resume "$id"
look away
ok "with its data" await_line away '^right 2$'
ctl suspend "$id"
kill -STOP "$worker"
ctl resume --no-wait "$id"
await "the return" is_state "$id" returning
ok "it is to be suspended again while it returns" ctl suspend --no-wait "$id"
kill -CONT "$worker"
ok "and is, as soon as it has returned" await "the state" is_state "$id" suspended
ctl resume "$id"
look away
ok "with its data" await_line away '^right 3$'
stop "${line_pid[away]}"

# While the driver waits for the kernel; the worker is stopped in between, so that it never says that time is up.
hold busy "1 600000000000"
id=$(last_session)
worker=$(worker_of "$id")
stopped_while_leaving() {
    ctl suspend --no-wait "$id"
    await "the lock" is_state "$id" leaving || return 1
    kill -STOP "$worker"
    is_state "$id" leaving && return 0
    kill -CONT "$worker"
    return 1
}
for _ in 1 2 3 4 5; do stopped_while_leaving && break; done
is "$(state_of "$id")" leaving "another waits for the driver's lock"
ok "that is not waited for for ever" await "the limit" is_state "$id" unclear
kill -CONT "$worker"
ok "it runs on when its worker answers" await "the answer" is_state "$id" ""
like "$(grep -a 'suspension=running was=unclear' "$BOX_LOG")" 'has not answered .*it runs on' \
    "and the reason is said"
stop "${line_pid[busy]}"
ok "nothing is left of the helpers" await "their end" eval '! helper_of'
stop "$BOX_PID"

start_box --devices sim:1 --admin-socket "$TMP/admin" --memory-check 200ms --suspend-timeout 1s
hold stopped 10
id=$(last_session)
ok "a session whose worker moves its memory itself is suspended" ctl suspend "$id"
kill -STOP "$(worker_of "$id")"
ok "it is to return, and its worker does not" ctl resume --no-wait "$id"
logs "$BOX_LOG" "session=$id ended .*reason=\"its memory did not return to the GPU within [0-9]+ ms" "that is not waited for for ever either"
look stopped
ok "the program gets an error" await_line stopped 'CUDA_ERROR'
ok "and another one runs" on_box "$ENDURE" 2
done_testing
