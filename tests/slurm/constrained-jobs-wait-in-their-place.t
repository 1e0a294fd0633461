#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs that not every GPU suits wait in Slurm's queue, in their order, until one that suits them is
# free: none is started in vain, and none keeps others from GPUs that it cannot use. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=1"
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
hold='exec cat <gate'
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
box_of() { api GET "/v1/leases?key_prefix=slurm/test/$1/" | at leases.0.gpus.0.box; }

await "the count" free_licenses_are rgpu 4
jobs=()
for _ in 1 2 3 4 5 6; do
    jobs+=("$(submit --gres=rgpu:1 -t 10 --rgpu-constraint=box=box1 --wrap "$hold")")
done
ok "of six jobs for a box of two GPUs the first runs" await "its start" job_is "${jobs[0]}" RUNNING
ok "and the second" await "its start" job_is "${jobs[1]}" RUNNING
ok "the third waits for licences" await "its reason" pending_for "${jobs[2]}" Licenses
other=$(submit --gres=rgpu:1 -t 5 --rgpu-constraint=box=box2 --wrap "$hold")
ok "one for the other box runs" await "its start" job_is "$other" RUNNING
is "$(box_of "$other")" box2 "there"
for i in 0 1 2 3; do
    scancel "${jobs[i]}"
    ok "when one ends the next starts" await "its start" job_is "${jobs[i + 2]}" RUNNING
    is "$(box_of "${jobs[i + 2]}")" box1 "on the box that it wants"
    [ "$i" = 3 ] || ok "and no other" job_is "${jobs[i + 3]}" PENDING
done
is "$(for job in "${jobs[@]}"; do job_field "$job" Restarts; done | sort -u)" 0 "none was started in vain"

# slurmctld forgets such licences when it reads its files again.
late=$(submit --gres=rgpu:1 -t 5 --rgpu-constraint=box=box1 --wrap "$hold")
scontrol reconfigure
await "slurmctld" scontrol_ping
ok "one that waits does so after a reconfigure" await "its reason" pending_for "$late" Licenses
stop "$SLURMCTLD_PID"
start_slurmctld
counted_again() { [[ $(job_field "$late" Licenses) == *rgpu_* ]]; }
ok "and is counted after a restart of slurmctld" await "its licences" counted_again
ok "and waits" await "its reason" pending_for "$late" Licenses
scancel "${jobs[4]}" "${jobs[5]}"
ok "until there is one" await "its start" job_is "$late" RUNNING
is "$(job_field "$late" Restarts)" 0 "without a start in vain"
scancel "$late" "$other"
ok "all end" await "no leases" no_leases

# Jobs wait for GPUs of one box, though there are enough in two.
one=$(submit --gres=rgpu:1 -t 10 --rgpu-constraint=box=box1 --wrap "$hold")
two=$(submit --gres=rgpu:1 -t 20 --rgpu-constraint=box=box2 --wrap "$hold")
await "both" leases_are 2
both=$(submit --gres=rgpu:2 -t 5 --rgpu-constraint=same-box --wrap "$hold")
ok "two GPUs of one box are waited for" await "its reason" pending_for "$both" Licenses
planned() { [[ $(job_field "$both" StartTime) == 20* ]]; }
ok "and planned" await "the plan" planned
scancel "$one"
ok "until a box has two" await "its start" job_is "$both" RUNNING
is "$(box_of "$both")" box1 "which is the one"
scancel "$two" "$both"
ok "all end" await "no leases" no_leases

# Models by the type of --gres.
model=software
like "$(api GET /v1/gpus | at gpus.0.model)" "$model" "the GPUs are of a model"
typed=$(submit --gres=rgpu:"$model":2 --wrap "$hold")
ok "a job for a model's GPUs runs" await "its start" job_is "$typed" RUNNING
is "$(api GET "/v1/leases?key_prefix=slurm/test/$typed/" | at leases.0.request.model)" "*$model*" "on GPUs of the model"
scancel "$typed"
out=$(submit --gres=rgpu:nosuch:1 --wrap "$hold" 2>&1 || true)
like "$out" 'could ever serve the job, drained and absent ones included: ' "one for a model that the pool has not is refused"
fails "also where srun asks" as $ALICE srun --gres=rgpu:1 --rgpu-constraint=model=nosuch true
api POST /v1/boxes/box1/drain >/dev/null
drained=$(submit --gres=rgpu:1 --rgpu-constraint=box=box1 --wrap "$hold")
ok "one for a box that is drained waits" await "its reason" pending_for "$drained" Licenses
fails "and is not changed to what cannot be" as $ALICE scontrol update job="$drained" gres=rgpu:3
api POST /v1/boxes/box1/undrain >/dev/null
ok "until the box is there" await "its start" job_is "$drained" RUNNING
scancel "$drained"
out=$(as $ALICE srun --gres=rgpu:"$model":1 true 2>&1 || true)
like "$out" "rgpu-constraint=model=" "an srun hears how to ask"
ok "all end" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
