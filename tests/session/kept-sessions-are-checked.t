#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What rgpu-spawner has kept is checked before a session is taken over. What cannot be accounted for is ended, with the
# reason in the log and for the program; sessions beside go on.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
. "$TOP/tests/session/held.sh"
requires python3
ADMIN=$TMP/admin.sock
box() { start_box --devices sim:1 --spawner "$SPAWNER" --admin-socket "$ADMIN"; }
sessions() { "$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json; }
log_has() { grep -Eq -e "$1" "$BOX_LOG"; }
has_none() { [ -z "$(sessions)" ]; }
killed() { kill -KILL "$BOX_PID" && wait "$BOX_PID" 2>/dev/null || true; }
start_spawner --devices sim:1
box
start_session beside
while read -r how reason; do
    # The first session that the spawner lists is the one that is altered.
    stop "${line_pid[beside]}"
    start_session "$how" RGPU_LOG=info
    start_session beside
    killed
    ok "$how: the record is altered" python3 -B "$TOP/tests/session/alter_record.py" "$SPAWNER" "$how"
    box
    logs "$BOX_LOG" "is not taken over .*reason=\"$reason" "$how: $reason"
    ok "$how: the program gets an error" await_line "$how" '^error'
    case $how in garbage | short | long | writable | no-account | release | number) ;; *)
        logs "$TMP/$how.log" "the box's daemon was restarted, and $reason" "$how: and the reason" ;;
    esac
    ok "$how: the session beside it goes on" goes_on beside
done <<'CASES'
garbage its record cannot be read
short its record cannot be read
long its record cannot be read
writable its record cannot be read
no-account its record cannot be read
other-account its account cannot be read
release its worker is of another release than rgpud
number its record has no number
obstacle why
gpu the box no longer offers its GPU
budget its record names more memory than its GPU has
CASES

# The worker itself has the memory of a light suspension.
stop "${line_pid[beside]}"
await "no session" has_none
start_held held 8 env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" RGPU_LOG=info
await_line held ready
number=$(sessions | sed -n 's/.*"session":\([0-9]*\).*/\1/p')
suspended() { sessions | grep -q "\"session\":$number,.*\"suspension\":\"suspended\""; }
ok "a session is suspended" "$BUILD/bin/rgpuctl" suspend "$number" --socket "$ADMIN"
look held
killed
box
ok "the next rgpud takes it over, and it stays suspended" await "the state" suspended
fails "the program gets no answer" read_line held 0.1
ok "it is resumed" "$BUILD/bin/rgpuctl" resume "$number" --socket "$ADMIN"
ok "and the program has its data" await_line held '^right 1$'
look held
ok "as often as it looks" await_line held '^right 2$'

# The driver has moved more, and knows how far it came.
start_session other
ok "a session is suspended" "$BUILD/bin/rgpuctl" suspend "$number" --socket "$ADMIN"
await "its context is away" log_has "session=$number suspension=suspended was=suspended"
killed
box
ok "the driver has moved its context: it stays suspended" await "the state" suspended
logs "$BOX_LOG" "session=$number suspension=suspended was=unclear" "as the driver is asked"
look held
fails "the program gets no answer" read_line held 0.1
ok "it is resumed" "$BUILD/bin/rgpuctl" resume "$number" --socket "$ADMIN"
ok "and the program has its data" await_line held '^right 3$'
ok "the session beside it goes on" goes_on other
stop "${line_pid[other]}"

# rgpud is killed while the driver is at work, here by a worker that does not answer it.
state_is() { sessions | grep -q "\"session\":$number,.*\"suspension\":\"$1\""; }
worker=$(sessions | sed -n "s/.*\"session\":$number,\"pid\":\([0-9]*\).*/\1/p")
start_session other
ok "a session is suspended" "$BUILD/bin/rgpuctl" suspend "$number" --socket "$ADMIN"
await "its context is away" log_has "session=$number suspension=suspended was=suspended"
stop "${line_pid[other]}"
kill -STOP "$worker"
ok "it is to return" "$BUILD/bin/rgpuctl" resume --no-wait "$number" --socket "$ADMIN"
await "the driver is at work" state_is returning
killed
box
ok "what the driver was doing is unclear to the next rgpud" await "the state" log_has "session=$number suspension=unclear"
kill -CONT "$worker"
look held
ok "and the program has its data" await_line held '^right 4$'
done_testing
