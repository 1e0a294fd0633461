#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that is cancelled while it waits for its GPUs, with its nodes, is cancelled once and for all. seconds: 600
. "$(dirname "$0")/cluster.sh"
# The licences do not follow the pool here, so jobs start that the broker has nothing for.
RGPU_JOBS=('count = no' 'acquire_wait = 200s' 'interactive_wait = 200s' 'release_wait = 200s')
LICENSES=rgpu:4,rgpu_mem:65536
start_pool_cluster
outsider=$(api POST /v1/leases '{"request": {"gpus": [{"count": 4}]}}' | at lease.id)
configuring() { scontrol show job "$1" | grep -q 'JobState=CONFIGURING'; }
ended() { [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = "" ]; }
# begin [OPTION...]: a job that waits for the broker. Sets job.
begin() {
    job=$(as $ALICE sbatch --parsable -o "out.%j" --gres=rgpu:1 "$@" --wrap 'echo ran')
    await "job $job waiting for GPUs" configuring "$job"
}
for kind in requeue no-requeue; do
    begin --$kind
    as $ALICE scancel "$job"
    ok "scancel ends a job that starts ($kind)" await "its end" ended "$job"
    is "$(job_state "$job")" CANCELLED "it is cancelled"
    is "$(job_field "$job" Restarts)" 0 "and was not started again"
done
begin -N2
as $ALICE scancel "$job"
ok "a job of two nodes" await "its end" ended "$job"
is "$(job_state "$job")" CANCELLED "is cancelled"
begin --array=0-1
as $ALICE scancel "${job}_0"
ok "a task of an array" await "its end" ended "${job}_0"
as $ALICE scancel "$job"
ok "and the rest of it" await "the end" ended "$job"
begin
as $ALICE scontrol requeue "$job"
again() { [ "$(job_field "$job" Restarts)" = 1 ]; }
ok "a job that is requeued is" await "the requeue" again
as $ALICE scancel "$job"
ok "and can be cancelled" await "its end" ended "$job"
ok "nothing is left of them" await "one lease" leases_are 1
stop "$BROKER_PID" KILL
begin
as $ALICE scancel "$job"
ok "also while the broker is away, which is not waited for" await "its end" ended "$job"
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
await "box1" box_is box1 up
await "box2" box_is box2 up
api DELETE "/v1/leases/$outsider" >/dev/null
ok "the GPUs are free" as $ALICE srun --gres=rgpu:4 "$SAXPY"
is "$(ls out.* 2>/dev/null)" "" "none of them ran"
ok "no node is drained" await "idle nodes" nodes_idle
done_testing
