#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The software GPU has an MPS as real ones have: processes that find its daemon are clients of one server, have
# the share and the memory that their environment gives them, and lose their contexts together.
. "$(dirname "$0")/obedient.sh"

export CUDA_MPS_PIPE_DIRECTORY=$TMP/pipe RGPU_SIM_STATE=$TMP/state
CONTROL=$BUILD/bin/rgpu-sim-mps-control
mkdir "$TMP/pipe"
ask() { "$CONTROL" <<<"$*" 2>&1; }
answers() { ask get_server_list >/dev/null; }
natively true
LIBRARIES=$TMP/native

fails "without a daemon there is nobody to ask" "$CONTROL" <<<get_server_list
obedient before
is "$(told before share)" "share 16 mps=0" "and programs are no clients"
start daemon "$CONTROL" -f
daemon=$PID
await "the daemon" answers
is "$(ask get_server_list)" "" "a daemon without clients has no server"

obedient one
obedient two
is "$(told one share)" "share 16 mps=1" "a program that finds the daemon is its client"
server=$(ask get_server_list)
is "$(ask get_client_list "$server" | sort)" "$(printf '%s\n' "${line_pid[one]}" "${line_pid[two]}" | sort)" \
    "two programs are clients of one server"
is "$(ask get_server_status "$server")" ACTIVE "which is active"
obedient part CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=128M
is "$(told part share)" "share 4 mps=1" "a quarter of the multiprocessors"
is "$(told part "alloc $((32 << 20))")" "alloc 0" "memory within the limit"
is "$(told part "alloc $((64 << 20))")" "alloc 2" "but not more, with the context that counts"
is "$(told one "alloc $((64 << 20))")" "alloc 0" "which is not another's limit"

is "$(told one fault)" "fault 700" "a fault is told to who made it"
is "$(told two work)" "work 700" "and the other client's context is lost with it"
is "$(told part work)" "work 700" "as is that of the third"
is "$(told before work)" "work 0" "but not that of a program that is no client"
is "$(ask get_server_status "$server")" FAULT "the server says so"
fails "it takes nobody" natively "$BUILD/tests/programs/saxpy"
for name in one two part; do dismiss $name; done
no_clients() { [ -z "$(ask get_client_list "$server")" ]; }
await "the clients' end" no_clients
ok "until all its clients have gone" natively "$BUILD/tests/programs/saxpy"

obedient busy
obedient beside
is "$(told busy hang)" "hang 0" "a kernel that does not end"
runs() { ask ps | grep -q "^${line_pid[busy]} .* 1$"; }
await "the kernel" runs
is "$(told beside work)" "work 0" "lets others compute"
ask terminate_client "$server" "${line_pid[busy]}" >/dev/null
is "$(told busy free)" "free 810 0 0" "an administrator ends what a client has the GPU do"
stop "${line_pid[busy]}" KILL
is "$(told beside work)" "work 0" "so that its end is not others'"
obedient busy
is "$(told busy hang)" "hang 0" "the same again"
await "the kernel" runs
stop "${line_pid[busy]}" KILL
lost() { [ "$(told beside work)" = "work 700" ]; }
ok "a client that is killed in the middle of a kernel makes a fault" await "the loss" lost
dismiss beside

obedient three
kill -KILL "$(ask get_server_list)"
no_server() { [ -z "$(ask get_server_list)" ]; }
await "the server's end" no_server
is "$(told three work)" "work 806" "a client of a server that is gone is told"
ok "and a new one has another server" natively "$BUILD/tests/programs/saxpy"
fails "one directory has one daemon" "$CONTROL" -f
ask quit
wait "$daemon" && pass "the daemon ends when asked to" || fail "the daemon ends when asked to"
done_testing
