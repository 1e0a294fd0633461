#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A slurmctld that ends or is reconfigured while the GPUs of a job are being released: since 25.05 it has unloaded its accounting by
# then, and nothing may be reported to it. It goes on, and the job's end gives back. seconds: 300
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
job=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 -w n3 --no-requeue --wrap 'sleep 1000')
await "job $job" job_is "$job" RUNNING
# The broker is slow, and slurmctld waits for its messages to a node that does not answer.
stop "${SLURMD_PID[n3]}" KILL
kill -STOP "$BROKER_PID"
scontrol update node=n3 state=down reason=test
await "the job's end" job_is "$job" COMPLETING
before=$(grep -c 'Saving all slurm state' "$SLURM_DIR/slurmctld.log" || true)
saves() { [ "$(grep -c 'Saving all slurm state' "$SLURM_DIR/slurmctld.log")" -gt "$before" ]; }
if [[ $(slurmctld -V) =~ \ (2[0-2]\.|23\.02) ]]; then before=-1; fi # these do not end for a reconfiguration
scontrol reconfigure >/dev/null 2>&1 &
await "slurmctld to save its state" saves
kill -CONT "$BROKER_PID"
wait $! || true
ok "slurmctld goes on" await "slurmctld" scontrol_ping
ok "the process is the one that was started, or follows it" kill -0 "$SLURMCTLD_PID"
ok "the job's end gives back" await "no leases" no_leases
start_slurmd n3
scontrol update node=n3 state=resume 2>/dev/null || true
ok "the node is back" await "idle nodes" nodes_idle
ok "the next job runs" as $ALICE srun --gres=rgpu:1 "$SAXPY"
done_testing
