#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sessions that share memory go on with the next rgpud, which knows what each of them shares, uses and pays for. What the
# spawner has kept of it is checked.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/holders.sh"
box() { start_ticket_box --spawner "$SPAWNER"; }
killed() { kill -KILL "$BOX_PID" && wait "$BOX_PID" 2>/dev/null || true; }
restarted() { kill -USR1 "$BOX_PID" && wait "$BOX_PID" && box; }
pays() { await "the charge moves to session $1" grep -q "session=$1 has shared memory on its account now gpu=0 bytes=$2" "$BOX_LOG"; }
number_of() { "$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json | sed -n "s/.*\"session\":\([0-9]*\),.*token-holder ${pid[$1]}@.*/\1/p"; }
no_sessions() { [ -z "$("$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json)" ]; }

start_spawner --devices sim:1
box
for name in anna ben; do holder $name one; done
token=$(tell anna share $((64 * MIB)) | sed -n 's/^token //p')
physical=$(tell anna physical $((16 * MIB)) | sed -n 's/^token //p')
read -r pool inside <<<"$(tell anna pool $((16 * MIB)) | sed -n 's/^tokens //p')"
is "$(tell ben open "$token")" "opened 4711" "a process opens what another one shares"
before=$(left ben)

killed
box
is "$(left ben)" "$before" "rgpud is killed: both go on with the next one, and it counts once"
holder carl one
before=$(left ben)
is "$(tell carl open "$token")" "opened 4711" "a token of before is good for a process that comes later"
is "$(tell carl close)" "closed 0" "which closes it"
is "$(tell carl import "$physical" $((16 * MIB)))" "opened 4712" "physical memory"
is "$(tell carl adopt "$pool" "$inside")" "opened 4713" "and a pool, too"
is "$(left ben)" "$before" "and neither counts again"
holder dora two
is "$(tell dora open "$token")" "failed 400" "for one of another lease it is not"
is "$(tell ben open "$(forged "$token")")" "failed 400" "nor is one that was never given"
is "$(tell ben close)" "closed 0" "it is closed"

restarted
is "$(tell ben open "$token")" "opened 4711" "rgpud is restarted: it is opened again"
is "$(tell carl give)" "given 0" "and what is of the pool is freed"
ben=$(number_of ben)
killed
kill -KILL "${pid[anna]}"
box
ok "who has made it ends while there is no rgpud: who uses it pays" pays "$ben" $((64 * MIB))
is "$(tell carl open "$token")" "failed 400" "and its token is good for nothing"
killed
box
held=$(left ben)
is "$(tell ben close)" "closed 0" "it is closed with the rgpud after that"
account_is() { [ "$(left ben)" = "$1" ]; }
ok "and off the account" await "and off the account" account_is $((held + 64))

# A record that is damaged costs its token, and no session.
for how in garbage release memory token descriptor; do
    token=$(tell ben share $((32 * MIB)) | sed -n 's/^token //p')
    is "$(tell carl open "$token")" "opened 4711" "$how: memory is shared"
    killed
    ok "$how: its record is altered" python3 -B "$TOP/tests/session/alter_record.py" "$SPAWNER" "$how" export
    box
    logs "$BOX_LOG" 'shared memory is not taken over' "$how: it is not taken over"
    is "$(tell carl close) $(tell ben free)" "closed 0 freed 0" "$how: its sessions go on"
done
for name in ben carl dora; do kill -KILL "${pid[$name]}"; done
ok "all sessions end" await "all sessions to end" no_sessions
killed
box
fails "and nothing of them is left to take over" grep -q 'taken over' "$BOX_LOG"
done_testing
