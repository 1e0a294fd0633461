#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A box with sharing = mps keeps the MPS daemon of its GPU: workers are its clients, a fault of one ends all of their
# sessions with the reason, and a daemon that is killed or hangs is started again.
. "$(dirname "$0")/obedient.sh"

chmod a+x "$TMP"
LIBRARIES=$BUILD/lib
CONTROL=$BUILD/bin/rgpu-sim-mps-control
log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
# said TIMES REGEX: the log has the line so often.
said() { [ "$(grep -Ec -e "$2" "$BOX_LOG")" -ge "$1" ]; }
await_log() { await "log line /$2/ $1 times" said "$1" "$2" || fail "log: $2"; }
on_mps() { CUDA_MPS_PIPE_DIRECTORY=$TMP/mps/0/pipe timeout 30 "$CONTROL" <<<"$*"; }

start_box --devices sim:1 --sharing mps --mps-directory "$TMP/mps" --warm-workers 2 --mps-check 200ms
RGPU_BOXES=$BOX
export RGPU_BOXES
await_log 1 'gpu=0 the MPS daemon is ready'
obedient one
obedient two
is "$(told one share)" "share 16 mps=1" "a session's context is one of MPS"
server=$(on_mps get_server_list)
clients=$(on_mps get_client_list "$server")
worker() { sed -n "s/.*session=$1 begins pid=\([0-9]*\).*/\1/p" "$BOX_LOG"; }
like "$clients" "^$(worker 1)$" "its worker is a client of the daemon"
like "$clients" "^$(worker 2)$" "and so is the other's"
daemon() { sed -n 's/.*the MPS daemon is ready pid=\([0-9]*\).*/\1/p' "$BOX_LOG" | tail -n 1; }
if [ "$(id -u)" = 0 ]; then
    is "$(stat -c %u "/proc/$(daemon)")" "$(stat -c %u "/proc/$(worker 1)")" "of one user"
    [ "$(stat -c %u "/proc/$(daemon)")" != 0 ] && pass "who is not root" || fail "who is not root"
    is "$(grep -E '^Cap(Eff|Prm|Amb)' "/proc/$(daemon)/status" | grep -vc 0000000000000000 || true)" 0 "and has no capabilities"
else
    for what in "of one user" "who is not root" "and has no capabilities"; do skip "$what: needs root"; done
fi

is "$(told one contexts)" "contexts 0" "a program makes further contexts"
obedient busy
is "$(told busy hang)" "hang 0" "a program whose kernel does not end"
runs() { on_mps ps | grep -q "^$(worker 3) .* 1$"; }
await "the kernel" runs
stop "${line_pid[busy]}" KILL
await_log 1 'session=3 ended'
is "$(told two work)" "work 0" "is no fault of others when it is killed"

unlike "$(told one fault)" "fault 0" "a fault"
await_log 1 'session=2 ended .*reason="a fatal fault of one of its clients, perhaps of this one'
unlike "$(told two work)" "work 0" "ends another session on the server"
for name in one two; do
    logs "$TMP/$name.log" "a fatal fault of one of its clients, perhaps of this one, ended the GPU's MPS server and all of them \(CUDA error 700, mps_share=user\)" \
        "and program $name says why"
done
await_log 2 'gpu=0 the MPS daemon is ready'
obedient three
is "$(told three work)" "work 0" "a new daemon serves new sessions"
is "$(told three share)" "share 16 mps=1" "by MPS"

is "$(told three fault)" "fault 700" "who is alone hears of his own error"
await_log 3 'gpu=0 the MPS daemon is ready'
obedient three
is "$(told three work)" "work 0" "and the next program has a new daemon"

kill -KILL "$(daemon)"
await_log 1 'gpu=0 the MPS daemon is gone failures=1 reason="the MPS daemon ended by itself: killed by signal 9'
unlike "$(told three work)" "work 0" "a session ends with a daemon that is killed"
logs "$TMP/three.log" "the GPU's MPS daemon or its server is gone" "and its program says why"
await_log 4 'gpu=0 the MPS daemon is ready'
ok "another daemon serves new sessions" on_box "$BUILD/tests/programs/saxpy"

supervisors() { spawned "$BOX_PID" -f "rgpu-mps " || true; }
kill -KILL "$(supervisors)"
await_log 1 'reason="rgpu-mps ended'
await_log 5 'gpu=0 the MPS daemon is ready'
ok "and so after its supervisor was killed" on_box "$BUILD/tests/programs/saxpy"
last=$(daemon)
stop "$BOX_PID"
gone() { ! [ -e "/proc/$last" ]; }
await "the end of the daemon" gone
pass "the daemon ends with the box"

start_box --devices sim:1 --sharing 0:mps --mps-directory "$TMP/mps" --mps-check 100ms --mps-timeout 2s
RGPU_BOXES=$BOX
await_log 1 'gpu=0 the MPS daemon is ready'
obedient four
is "$(told four share)" "share 16 mps=1" "sharing = 0:mps is GPU 0's"
kill -STOP "$(daemon)"
await_log 1 'gpu=0 the MPS daemon is gone failures=1 reason="the MPS daemon does not answer within mps_timeout'
await_log 2 'gpu=0 the MPS daemon is ready'
ok "a daemon that hangs is started anew" on_box "$BUILD/tests/programs/saxpy"
stop "$BOX_PID" KILL
await "the daemon's end" eval '! pgrep -f "$TMP/mps/0" >/dev/null'
pass "a box that is killed leaves no daemon behind"

start_box --devices sim:1 --sharing mps,0:time --mps-directory "$TMP/mps"
RGPU_BOXES=$BOX
obedient five
is "$(told five share)" "share 16 mps=0" "what is said of a GPU counts more than what is said of all"
dismiss five
stop "$BOX_PID"

start_box --devices sim:1 --sharing mps --mps-directory "$TMP/mps" --mps-control "$TMP/absent"
RGPU_BOXES=$BOX
await_log 3 'gpu=0 the MPS daemon is gone failures=[0-9] reason="cannot start .*/absent: No such file'
fails "without the control program clients are refused" on_box "$BUILD/tests/programs/saxpy"
like "$(cat "$TMP/ok.out")" "the GPU's MPS daemon: cannot start .*/absent: No such file" "with the reason"
stop "$BOX_PID"

start_box --devices sim:1 --sharing mps --mps-directory "$TMP/mps" --mps-control "$TMP/absent" --mps-fallback time
RGPU_BOXES=$BOX
await_log 1 'failures=3 .*; its processes share the GPU by time until it starts'
obedient six
is "$(told six share)" "share 16 mps=0" "or are served by time, with mps_fallback = time"
dismiss six
stop "$BOX_PID"

"$BUILD/bin/rgpud" --standalone --devices sim:1 --sharing 0:mbs --check-config >"$TMP/check" 2>&1 || true
like "$(cat "$TMP/check")" "sharing=0:mbs is not understood" "another word is refused"
done_testing
