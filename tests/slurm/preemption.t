#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job of higher priority that lacks only GPUs preempts jobs that it may preempt, by Slurm's own rules, and
# of those only such whose GPUs it can use. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster PreemptType=preempt/partition_prio PreemptMode=REQUEUE \
    "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=1" \
    "PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP" \
    "PartitionName=kind Nodes=ALL PriorityTier=1 PreemptMode=CANCEL GraceTime=2 State=UP"
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
hold='exec cat <gate'
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
box_of() { api GET "/v1/leases?key_prefix=slurm/test/$1/" | at leases.0.gpus.0.box; }
requeued() { [ "$(job_field "$1" Restarts)" = 1 ]; }

await "the count" free_licenses_are rgpu 4
jobs=()
for box in box1 box1 box2 box2; do
    jobs+=("$(submit --gres=rgpu:1 --rgpu-constraint=box=$box --wrap "$hold")")
    await "its start" job_is "${jobs[-1]}" RUNNING
done
equal=$(submit --gres=rgpu:1 --wrap "$hold")
ok "a job of the same rank waits" await "its reason" pending_for "$equal" Licenses
urgent=$(submit -p urgent --gres=rgpu:1 --rgpu-constraint=box=box1 --wrap "$hold")
ok "an urgent one for a GPU of a box runs" await "its start" job_is "$urgent" RUNNING
is "$(box_of "$urgent")" box1 "there"
restarts=$(for job in "${jobs[@]}"; do job_field "$job" Restarts; done | xargs)
like "$restarts" '^(1 0 0 0|0 1 0 0)$' "in the place of one of that box, which is requeued"
big=$(submit -p urgent --gres=rgpu:2 --rgpu-constraint=same-box --wrap "$hold")
ok "one for two GPUs of one box runs" await "its start" job_is "$big" RUNNING
is "$(box_of "$big")" box2 "on the box where both could be taken"
ok "both jobs there are requeued" requeued "${jobs[2]}"
ok "the other too" requeued "${jobs[3]}"
third=$(submit -p urgent --gres=rgpu:3 --wrap "$hold")
ok "where not enough may be preempted a job waits" await "its reason" pending_for "$third" Licenses
ok "all counters agree" await "agreement" counters_agree
like "$(job_state "$urgent") $(job_state "$big")" '^RUNNING RUNNING$' "and nobody was ended for it"
scancel -u $ALICE
ok "all end" await "no leases" no_leases

# Two GPUs of a job that began first, one of a job that began last, one free: the latter two suffice.
more=$(submit --gres=rgpu:2 --rgpu-constraint=same-box --wrap "$hold")
await "its start" job_is "$more" RUNNING
began() { [ "$(date +%s)" -gt "$(date -d "$(job_field "$more" StartTime)" +%s)" ]; }
await "a second in which it has run" began
less=$(submit --gres=rgpu:1 --wrap "$hold")
await "its start" job_is "$less" RUNNING
urgent=$(submit -p urgent --gres=rgpu:2 --wrap "$hold")
ok "where a free GPU and a small job are enough an urgent one runs" await "its start" job_is "$urgent" RUNNING
ok "in the place of that" requeued "$less"
is "$(job_state "$more") $(job_field "$more" Restarts)" "RUNNING 0" "and the large one runs on"
scancel -u $ALICE
ok "all end" await "no leases" no_leases

# Slurm's signal reaches cat first, whose end must not be the script's.
kind=$(submit -p kind --gres=rgpu:4 --wrap 'trap "echo told >told; exit" TERM; : >listens; cat <gate & while :; do wait; done')
await "a job that listens" [ -e listens ]
urgent=$(submit -p urgent --gres=rgpu:2 --wrap "$hold")
ok "a job with a grace time makes room" await "the start" job_is "$urgent" RUNNING
ok "after it was told" await "the word" [ -e told ]
scancel -u $ALICE
ok "all end" await "no leases" no_leases
ok "no node is drained" await "idle nodes" nodes_idle
ok "the invariants hold" invariants --idle
done_testing
