#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm tells a job's processes that they will be ended, and ends them KillWait later. Until then they
# have their GPUs: at scancel, at the time limit, when another job takes their place, when the node of seconds: 600
# the rest has ended already. The GPUs are back when the last of them has gone.
KILL_WAIT=600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster PreemptType=preempt/partition_prio PreemptMode=REQUEUE \
    "PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP"
start_sync
mkfifo -m 666 "$TMP/work/gate" "$TMP/work/save"
exec 9<>"$TMP/work/gate" 8<>"$TMP/work/save"
cat >job.sh <<END
#!/bin/bash
trap 'echo told >told; read -r line <save; $SAXPY >saxpy.out 2>&1 && echo saved >checkpoint; exit' TERM
echo >ready
cat <gate &
while :; do wait; done # Slurm's signal reaches cat first, whose end must not be the script's
END
chmod 755 job.sh
submit() {
    rm -f ready told checkpoint
    job=$(as $ALICE sbatch --parsable -o job.out "$@")
    await "the job" test -e ready
}
# saves WHAT: the job was told, has its lease, uses it, and gives it back.
saves() {
    ok "$1: the job is told" await "its note" test -e told
    is "$(leases state=granted)" 1 "$1: it still has its GPUs"
    echo >save
    ok "$1: it writes what it has computed" await "its checkpoint" test -e checkpoint
    [ -e checkpoint ] || diag "$(cat saxpy.out)"
}
submit --gres=rgpu:2 job.sh
scancel "$job"
saves "scancel"
ok "then its GPUs are back" await "no leases" no_leases

submit --gres=rgpu:2 -t 60 job.sh
scontrol update job="$job" EndTime=now+1seconds
saves "the time limit"
ok "then its GPUs are back" await "no leases" no_leases

submit --gres=rgpu:1 -w n3 -c 8 --no-requeue job.sh
as $ALICE srun -p urgent -w n3 -c 8 true 9>&- 8>&- >/dev/null 2>&1 &
saves "preemption"
wait "$!" || true
ok "then its GPUs are back" await "no leases" no_leases

submit -N2 --gres=rgpu:1 job.sh
scancel "$job"
saves "the other node has nothing left to do"
ok "then its GPUs are back" await "no leases" no_leases

submit --gres=rgpu:1 job.sh
scancel "$job"
await "its note" test -e told
stop "$SLURMCTLD_PID"
start_slurmctld
saves "slurmctld is started anew meanwhile"
ok "then its GPUs are back" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
