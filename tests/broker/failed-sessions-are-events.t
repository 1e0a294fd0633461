#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A session whose worker dies is an event of the broker with the cause, and its program gets an error; one that ends as it should is none.
. "$(dirname "$0")/broker.sh"
. "$(dirname "$0")/held_leases.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"

ctl=$BUILD/bin/rgpuctl
start_broker
start_cuda_box box1
export RGPU_BROKER=unix:$BROKER_SOCKET
failed() { api GET '/v1/events?after=-100' | python3 -c 'import json, sys
print(*[(e["box"], e["lease"], e["detail"]["reason"]) for e in json.load(sys.stdin)["events"] if e["kind"] == "session.failed"], sep="\n")'; }
has_failed() { failed | grep -q "$1"; }

ok "a program runs to its end" "$ctl" run -- "$BUILD/tests/programs/saxpy"
hold_lease revoked 1
"$ctl" revoke "$LEASE" >/dev/null
hold_lease killed 1
pid=$(grep -o 'session=[0-9]* begins pid=[0-9]*' "$BOX_LOG" | tail -n 1 | grep -o '[0-9]*$')
kill -KILL "$pid"
look killed
ok "a worker that is killed is an event" await "the event" has_failed "$LEASE"
like "$(failed)" "^\('box1', '$LEASE', '.*signal 9.*: the worker died without a word'\)$" "with box, lease and cause, and the only one"
ended() { ! kill -0 "${line_pid[killed]}" 2>/dev/null; }
ok "its program ends" await "its end" ended
logs "$TMP/killed.log" 'session with box box1.* is lost: .*start it again' "with an error that says what to do"
is "$(api GET "/v1/leases/$LEASE" | at lease.state)" ended "and the lease with it"
is "$(api GET '/v1/events?after=-100' | grep -o 'session.failed' | wc -l)" 1 "it is one event"
done_testing
