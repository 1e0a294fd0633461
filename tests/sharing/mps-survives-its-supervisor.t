#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients of MPS, their daemon and its server go on when rgpud is killed or restarted, and the next rgpud watches all of them as
# the one before did. If the daemon or its server dies while there is no rgpud, the sessions end with the reason.
. "$(dirname "$0")/obedient.sh"
requires python3

chmod a+x "$TMP"
LIBRARIES=$BUILD/lib
CONTROL=$BUILD/bin/rgpu-sim-mps-control
log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
on_mps() { CUDA_MPS_PIPE_DIRECTORY=$TMP/mps/0/pipe timeout 30 "$CONTROL" <<<"$*"; }
settings=(--devices sim:1 --sharing mps --mps-directory "$TMP/mps" --mps-check 200ms)
start_spawner "${settings[@]}"
box() { start_box "${settings[@]}" --spawner "$SPAWNER"; }
killed() { kill -KILL "$BOX_PID" && wait "$BOX_PID" 2>/dev/null || true; }
restarted() { kill -USR1 "$BOX_PID" && wait "$BOX_PID" && box; }
daemon() { sed -n 's/.*the MPS daemon is \(ready\|taken over\) pid=\([0-9]*\).*/\2/p' "$BOX_LOG" | tail -n 1; }
gone() { ! [ -e "/proc/$1" ]; }
# ended NAME WHY...: the session of a program has ended, and its program knows why.
ended() {
    unlike "$(told "$1" work)" "work 0" "$1: its session ends"
    logs "$TMP/$1.log" "$2" "$1: with the reason"
    dismiss "$1"
}

# client NAME: a program whose session is a client of MPS. A worker that was ready before the daemon is none.
client() {
    obedient "$1" RGPU_LOG=info
    while [[ $(told "$1" share) != *mps=1 ]]; do
        dismiss "$1"
        obedient "$1" RGPU_LOG=info
    done
}

box
export RGPU_BOXES=$BOX
obedient one RGPU_LOG=info
obedient two RGPU_LOG=info
is "$(told one work)" "work 0" "a client of MPS computes"
await "the server" log_has 'MPS server pid=[1-9][0-9]* status=ACTIVE'
first=$(daemon)
server=$(on_mps get_server_list)
killed
is "$(told one work)" "work 0" "rgpud is killed: it computes on"
box
logs "$BOX_LOG" "the MPS daemon is taken over pid=$first server=$server\$" "the next rgpud takes its daemon over"
logs "$BOX_LOG" "MPS server pid=$server status=ACTIVE" "which says again how its server is"
for name in one two; do is "$(told $name work)" "work 0" "$name: its session goes on"; done
restarted
is "$(told one work) $(told two share)" "work 0 share 16 mps=1" "rgpud is restarted: they go on as clients"
obedient three
is "$(told three share)" "share 16 mps=1" "a new session is one, too"
is "$(on_mps get_server_list)" "$server" "of the same server"
dismiss three
is "$(told one work)" "work 0" "whose end is no fault of the others"
unlike "$(told two fault)" "fault 0" "a fault of one"
ended one "ended the GPU's MPS server and all of them"
dismiss two
logs "$BOX_LOG" 'the MPS daemon is ready' "and another daemon is started, as ever"

for what in daemon server; do
    client $what
    is "$(told $what work)" "work 0" "$what: a session"
    server=$(on_mps get_server_list)
    await "its server" log_has "MPS server pid=$server status=ACTIVE"
    pid=$([ $what = daemon ] && daemon || echo "$server")
    killed
    kill -KILL "$pid"
    await "its end" gone "$pid"
    box
    ended $what "MPS daemon.* is gone"
    logs "$BOX_LOG" 'the MPS daemon is ready' "$what: another daemon is started"
done

# What the spawner has kept is checked.
for how in garbage release gpu descriptor; do
    client $how
    is "$(told $how work)" "work 0" "$how: a session"
    killed
    ok "$how: the record is altered" python3 -B "$TOP/tests/session/alter_record.py" "$SPAWNER" $how mps
    box
    logs "$BOX_LOG" 'MPS supervisor pid=[0-9]+ is not taken over' "$how: the supervisor is not taken over"
    ended $how "its MPS daemon is gone"
    logs "$BOX_LOG" 'the MPS daemon is ready' "$how: another daemon is started"
done
last=$(daemon)
stop "$BOX_PID"
ok "a box that is stopped leaves no daemon" await "its end" gone "$last"
box
await "a daemon" log_has 'the MPS daemon is ready'
killed
stop "$SPAWNER_PID" KILL
ok "nor does a spawner that is killed" await "its end" eval '! pgrep -f "$TMP/mps/0" >/dev/null'
done_testing
