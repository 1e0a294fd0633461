#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld loses all its records and gives a job's number to another job: the new job gets its own
# GPUs and ticket, and those of the lost one come back. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"

lost=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:2 --wrap 'exec cat <gate')
await "the job" job_is "$lost" RUNNING
await "the lease" leases_are 1
lease=$(api GET /v1/leases | at leases.0.id)
stop "$SYNC_PID"
stop "$SLURMCTLD_PID" KILL
rm -rf "$SLURM_DIR/state"
install -d -o slurm "$SLURM_DIR/state"
start_slurmctld
await "idle nodes" nodes_idle
# A slurmd takes no second job of a number whose processes it still has.
processes_gone() { ! ls "$SLURM_DIR"/spool-*/*_"$lost".* >/dev/null 2>&1; }
await "the end of the lost job's processes" processes_gone

out=$(batch $BOB -o out --gres=rgpu:2 --wrap "$DEVICES; cut -d' ' -f3 \$RGPU_TICKET_FILE | cut -d. -f2 | tr _- /+ >payload" || true)
is "${out%%;*}" "$lost" "another user's job has the same number"
like "$(cat out)" '^ok .* both devices' "and computes on GPUs of its own"
python3 -c '
import base64, json, sys
for line in open("payload"):
    line = line.strip()
    print(json.loads(base64.b64decode(line + "=" * (-len(line) % 4))))' >payloads
unlike "$(cat payloads)" "$lease" "its ticket is not for the lost job's lease"
ok "the lost job's lease is still there while nobody compares" lease_is "$lease" granted
start_sync
ok "then it comes back" await "the end" lease_is "$lease" ended
ok "the invariants hold" invariants --idle
done_testing
