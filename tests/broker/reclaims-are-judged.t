#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# After a restore boxes reclaim leases with tickets: what this cluster's broker has not sealed is refused, and leases that contradict each
# other are settled by the rules of docs/admin/pool.md.
. "$(dirname "$0")/broker.sh"

start_broker
export BROKER_DIR BROKER_SOCKET BUILD
start judge python3 "$TOP/tests/broker/reclaims.py" before "$TMP"
wait "${line_pid[judge]}" || bail "the leases cannot be made: $(cat "$TMP/judge.log")"
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
ok "the copy is restored" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --restore "$TMP/copy"
start_broker
pass_on python3 "$TOP/tests/broker/reclaims.py" after "$TMP"
ok "the invariants hold" invariants
done_testing
