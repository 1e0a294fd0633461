#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A session that asks for nothing leaves the GPU, and is back with its data when it asks again.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/suspending.sh"

start_box --devices sim:1 --admin-socket "$TMP/admin" --memory-check 0 --idle-suspend 1s
hold idle 20
id=$(last_session)
start_session busy
ok "a session that asks for nothing is taken off the GPU" await "it leaves" is_state "$id" suspended
ok "one that does something stays" goes_on busy
is "$(state_of $((id + 1)))" "" "all the while"
fails "its context stays on the GPU, which the driver is not asked to move" log_has "suspension=suspended was=suspended"
look idle
ok "the first call brings it back, with its data" await_line idle '^right 1$'
ok "and it leaves again" await "it leaves" is_state "$id" suspended
look idle
ok "as often as it likes" await_line idle '^right 2$'
hold working "1 600000000000"
ok "a kernel that runs on keeps its session on the GPU" await "the try" log_has "does not come to an end"
is "$(state_of "$(last_session)")" "" "which is not suspended"
done_testing
