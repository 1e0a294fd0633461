#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A server of MPS that dies takes along what its clients had: their sessions and the workers that wait for clients end at
# once, and who comes then is served by another one. The look at the daemon is too rare here to be what notices it.
. "$(dirname "$0")/obedient.sh"

chmod a+x "$TMP"
LIBRARIES=$BUILD/lib
CONTROL=$BUILD/bin/rgpu-sim-mps-control
said() { [ "$(grep -Ec -e "$2" "$BOX_LOG")" -ge "$1" ]; }
await_log() { await "log line /$2/ $1 times" said "$1" "$2" || fail "log: $2"; }
on_mps() { CUDA_MPS_PIPE_DIRECTORY=$TMP/mps/0/pipe timeout 30 "$CONTROL" <<<"$*"; }
worker() { sed -n "s/.*session=$1 begins pid=\([0-9]*\).*/\1/p" "$BOX_LOG"; }
# end_server: kills it, and returns when it is no process any more.
gone() { ! [ -e "/proc/$1" ]; }
end_server() {
    local server
    server=$(on_mps get_server_list)
    kill -KILL "$server"
    await "the server's end" gone "$server"
}

start_box --devices sim:1 --sharing mps --mps-directory "$TMP/mps" --warm-workers 2 --mps-check 1h
RGPU_BOXES=$BOX
export RGPU_BOXES
obedient idle
obedient busy
is "$(told idle work)" "work 0" "a session computes"
await_log 1 'MPS server pid=[0-9]+ status=ACTIVE'
pass "a server is known as soon as it has a client"
is "$(told busy hang)" "hang 0" "another one is in the middle of a kernel"
await_log 4 'worker ready pid='
end_server
ok "who comes after the end of the server has another one at once" on_box "$BUILD/tests/programs/saxpy"
await_log 2 'session=[12] ended .*reason="the GPU.s MPS daemon or its server is gone'
pass "the sessions on it have ended, unasked"
unlike "$(told idle work)" "work 0" "and do not go on"
logs "$TMP/idle.log" "the GPU's MPS daemon or its server is gone, and with it what its clients had on the GPU" \
    "but the program says why"
await_log 2 'worker ended pid=[0-9]+ state=ending .*reason="the GPU.s MPS daemon or its server is gone'
pass "and so have the workers that waited for clients"

obedient alone
await_log 2 'MPS server pid=[1-9][0-9]* status=ACTIVE'
end_server
for n in 1 2 3; do
    ok "beside a session that was alone as well, client $n" on_box "$BUILD/tests/programs/saxpy"
done
unlike "$(told alone work)" "work 0" "whose memory is lost"

obedient ended
obedient beside
await_log 3 'MPS server pid=[1-9][0-9]* status=ACTIVE'
number=$(sed -n 's/.*session=\([0-9]*\) begins.*/\1/p' "$BOX_LOG" | tail -n 2)
on_mps terminate_client "$(on_mps get_server_list)" "$(worker "$(head -n 1 <<<"$number")")" >/dev/null
unlike "$(told ended work)" "work 0" "a client that an administrator takes from the server"
logs "$TMP/ended.log" "the GPU's MPS server serves this session no more \(CUDA error 810\)" "is told so"
is "$(told beside work)" "work 0" "and is nobody else's affair"
done_testing
