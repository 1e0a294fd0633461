#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# However a job ends, its GPUs come back: by itself, failing, cancelled, out of time, requeued, with
# processes that linger, before it has started, with its node, or with slurmctld's memory of it. seconds: 600
. "$(dirname "$0")/cluster.sh"
# Slurm's count does not follow the pool here, so that a job can be started for which there is nothing.
RGPU_JOBS=('count = no')
LICENSES=rgpu:4,rgpu_mem:65536
start_pool_cluster PreemptType=preempt/partition_prio PreemptMode=REQUEUE \
    "PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP"
start_sync
hold='echo started; exec cat <gate'
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
running() { await "job $1" job_is "$1" RUNNING && await "the lease" leases_are "${2:-1}"; }
back() { await "GPUs back" no_leases; }
the_lease() { api GET /v1/leases | at leases.0.id; }
other_lease() { leases_are 1 && [ "$(the_lease)" != "$1" ] && lease_is "$1" ended; }

ok "success" as $ALICE srun --gres=rgpu:1 true
ok "gives back" back
fails "failure" as $ALICE srun --gres=rgpu:1 false
ok "gives back" back

job=$(submit --gres=rgpu:2 --wrap "$hold")
running "$job"
scancel "$job"
ok "scancel gives back" back

job=$(submit --gres=rgpu:2 --wrap 'trap "" TERM CONT; while :; do read -r line <gate; done')
running "$job"
scancel "$job"
ok "so does one whose processes linger" back

job=$(submit --gres=rgpu:2 --wrap "$hold")
running "$job"
lease=$(the_lease)
scontrol requeue "$job"
ok "requeue gives back, and the job's next start takes anew" await "another lease" other_lease "$lease"
scancel "$job"
ok "which ends with it" back

job=$(submit --gres=rgpu:2 -w n3 -c 8 --wrap "$hold")
running "$job"
lease=$(the_lease)
ok "a job of higher priority takes its node" as $ALICE srun -p urgent -w n3 -c 8 --gres=rgpu:1 "$SAXPY"
ok "preemption gives back" await "another lease" other_lease "$lease"
scancel "$job"
ok "and again at the end" back

job=$(submit --gres=rgpu:2 -t 60 --wrap "$hold")
running "$job"
scontrol update job="$job" EndTime=now+1seconds
timed_out() { job_is "$job" TIMEOUT; }
ok "its time ends" await "the timeout" timed_out
ok "which gives back" back

# A job that is cancelled while it waits for the broker: the release overtakes the acquire.
api POST /v1/leases '{"request": {"gpus": [{"count": 4}]}}' >"$TMP/outsider"
outsider=$(at lease.id <"$TMP/outsider")
stop "$SYNC_PID"
job=$(submit --gres=rgpu:1 --wrap true)
await "the wait" leases_are 2
scancel "$job"
ok "scancel during the acquire leaves no lease" await "one lease" leases_are 1
api DELETE "/v1/leases/$outsider" >/dev/null
ok "and the GPUs are free" back
start_sync

# slurmctld goes while a job runs, and comes back. What it knew of the last seconds it has not
# written yet: this job's record has to be on disk.
job=$(submit --gres=rgpu:2 --wrap "$hold")
running "$job"
scontrol update job="$job" comment=runs-as-"$job" # a change, without which there would be nothing to write
saved() { grep -aqF "runs-as-$job" "$SLURM_DIR/state/job_state"; }
await "the record on disk" saved
stop "$SLURMCTLD_PID" KILL
ok "without slurmctld a lease stays" leases_are 1
start_slurmctld -i
ok "and when it is back" leases_are 1
scancel "$job"
ok "the job's end gives back" back

# slurmctld loses its records: no hook will ever run for the job.
job=$(submit --gres=rgpu:2 --wrap "$hold")
running "$job"
stop "$SLURMCTLD_PID" KILL
rm -rf "$SLURM_DIR/state"/job_state* "$SLURM_DIR/state"/hash.*
start_slurmctld -i
ok "a lost record gives back" back
await "idle nodes" nodes_idle

# timeout SECONDS: for so long slurmctld waits for a node that does not answer.
timeout() {
    sed -i "s/^SlurmdTimeout=.*/SlurmdTimeout=$1/" "$SLURM_DIR/slurm.conf"
    scontrol reconfigure
}
job=$(submit --gres=rgpu:1 -w n3 --wrap "$hold")
running "$job"
stop "${SLURMD_PID[n3]}" KILL
timeout 10
ok "a dead node gives back" back
timeout $DOWN_SECONDS
start_slurmd n3
# When a node registers, Slurm ends what it still runs of a requeued job, but not for a while what it runs of a cancelled one.
registered() { ! sinfo -h -n n3 -N -o %T | grep -q down; }
await "the node's return" registered
scancel "$job" 2>/dev/null || true
await "idle nodes" nodes_idle

# The broker is away when a job ends.
job=$(submit --gres=rgpu:2 --wrap "$hold")
running "$job"
stop "$BROKER_PID" KILL
scancel "$job"
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
ok "an end while the broker is away gives back" back
ok "nodes are not drained by any of this" await "idle nodes" nodes_idle
ok "the invariants hold" invariants --idle
ok "no ticket is left" await "the end of the tickets" no_tickets
done_testing
