#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl run takes a lease, gives the program its ticket, and the lease ends however that does.
. "$(dirname "$0")/broker.sh"

start_broker
start_pool_box box1
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key
leases() { "$ctl" leases --json | wc -l; }
none_left() { [ "$(leases)" = 0 ]; }
status_of() { local status=0; "$@" >"$TMP/out" 2>&1 || status=$?; echo $status; }

ok "a program runs under a lease" "$ctl" run -- "$CLIENT" "$BOX" echo hi
ok "which is over afterwards" await "the end" none_left
out=$(XDG_RUNTIME_DIR=$TMP RGPU_TICKET=stale "$ctl" run -- sh -c 'env; stat -c "%a %s" "$RGPU_TICKET_FILE"')
unlike "$out" 'eyJ|^RGPU_TICKET=' "the ticket is not in the program's environment"
like "$out" "^RGPU_TICKET_FILE=$TMP/rgpu-ticket-" "but in a file that is named there"
like "$out" '^600 [1-9]' "which only the user can read"
is "$(ls "$TMP" | grep -c rgpu-ticket || true)" 0 "and which is gone afterwards"
is "$(status_of env XDG_RUNTIME_DIR= TMPDIR="$TMP" "$ctl" run -- sh -c 'test -s "$RGPU_TICKET_FILE"; exit 5')" 5 "it is written where there is room for it"
is "$(status_of "$ctl" run -n 2 -- sh -c 'exit 7')" 7 "the program's status is rgpuctl's"
is "$(status_of "$ctl" run -- sh -c 'kill -TERM $$')" 143 "and its signal"
is "$(status_of "$ctl" run -- /no/such/program)" 127 "a program that does not exist"
ok "all leases are over" await "the end" none_left
is "$(status_of "$ctl" run -n 3 --no-wait -- true)" 1 "more GPUs than there are"
like "$(cat "$TMP/out")" 'could ever satisfy' "is refused with the reason"
is "$(status_of "$ctl" run --mem 100M -- true)" 1 "a share of a pool that gives none"
like "$(cat "$TMP/out")" '0 of 2 GPUs of its kind are given in shares; .* rgpuctl mode GPU auto' "is refused with the way to change that"
is "$(status_of "$ctl" run --timeout soon -- true)" 2 "a time that is none"
is "$(status_of "$ctl" run --mode shared -- true)" 2 "a share needs a budget"
is "$(status_of "$ctl" run --constraint colour=red -- true)" 2 "an unknown constraint"
like "$(cat "$TMP/out")" '"colour=red" is not understood' "is named"
like "$(cat "$TMP/out")" 'there are model=, .*compute=25%, policy=pack\|spread\|best-fit' "with those that there are"
is "$(status_of "$ctl" run --transport tpc -- true)" 2 "a transport that does not exist"
like "$(cat "$TMP/out")" '--transport tpc: auto\|shm\|vm\|rdma\|tcp is what it takes' "is refused before a lease is taken"
like "$(env -u RGPU_BOXES RGPU_TICKET_FILE="$TMP/gone" LD_LIBRARY_PATH="$BUILD/lib" "$BUILD/tests/programs/saxpy" 2>&1 || true)" \
    'the file that RGPU_TICKET_FILE names is not there' "a ticket file that is missing is named as such"

start first "$ctl" run -n 2 -- sh -c 'echo started; exec tail -f /dev/null'
first=$PID
await_line first started
is "$(status_of "$ctl" run --no-wait -- true)" 1 "--no-wait ends at once where all is taken"
start second "$ctl" run -- sh -c 'echo started; exec tail -f /dev/null'
second=$PID
waits() { "$ctl" leases | grep -q ' queued '; }
ok "else it waits" await "the queue" waits
is "$(status_of "$ctl" run --timeout 1s -- true)" 1 "--timeout ends the wait"
like "$(cat "$TMP/out")" 'no GPUs within --timeout: others who want the same came before' "with the reason"
is "$(status_of "$ctl" drain --wait --timeout 1s box1)" 1 "so does that of a drain"
like "$(cat "$TMP/out")" 'rgpuctl drain: not within 1s' "which says so"
ok "the box is back in service" "$ctl" undrain box1
kill -TERM "$first"
ok "TERM ends the program and the lease, and who waited starts" await_line second started
kill -KILL "$second"
wait "$second" 2>/dev/null || true
one_left() { [ "$(leases)" = 1 ]; }
ok "one lease is left" one_left
remains=$("$ctl" leases --json | at expires)
ok "which ends by itself within two minutes" [ $((remains - $(date +%s))) -le 120 ]
ok "the invariants hold" invariants
done_testing
