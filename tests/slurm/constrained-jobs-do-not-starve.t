#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that only some GPUs suit is planned by Slurm for the end of the jobs that have them, and gets them although jobs that any
# GPU suits wait behind it. Counts never say more than there is, and go with the last job. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=1,bf_resolution=60"
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
hold='exec cat <gate'
submit() { as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 "$@" --wrap "$hold"; }
box_of() { api GET "/v1/leases?key_prefix=slurm/test/$1/" | at leases.0.gpus.0.box; }
class_of() { job_field "$1" Licenses | tr ',' '\n' | sed -n 's/^\(rgpu_[^:]*\):.*/\1/p'; }
class_is() { [ "$(license_field "$class" Total) $(license_field "$class" Used)" = "$1 $2" ]; }
any_is() { [ "$(license_field rgpu_any Total) $(license_field rgpu_any Used)" = "$1 $2" ]; }
seconds_of() { date -d "$(job_field "$1" "$2")" +%s; }
planned() { [ "$(job_field "$1" StartTime)" != Unknown ]; }

# Jobs of any GPUs fill the pool; those on box2 end first.
await "the count" free_licenses_are rgpu 4
ok "there are as many GPUs for jobs that any suits" await "the count" any_is 4 0
declare -A on=()
for limit in 10 20 30 40; do
    job=$(submit -t "$limit")
    await "its start" job_is "$job" RUNNING
    on[$(box_of "$job")]+=" $job"
done
read -r first second <<<"${on[box2]}"
read -r other _ <<<"${on[box1]}"
ok "each takes one" await "the count" any_is 4 4

large=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:2 --rgpu-constraint=box=box2 -t 5 --wrap "$hold")
ok "a job for both GPUs of a box waits" await "its reason" pending_for "$large" Licenses
class=$(class_of "$large")
is "$class" rgpu_box_box2+x2 "its licence has a name that says what it asks for"
ok "it counts what the box can have at once, and that jobs have it" await "the count" class_is 1 1
ok "it is planned" await "its plan" planned "$large"
[ "$(seconds_of "$first" EndTime)" -gt "$(seconds_of "$second" EndTime)" ] && last=$first || last=$second
ok "for the end of the last job that has one of its GPUs" \
    [ $(($(seconds_of "$large" StartTime) - $(seconds_of "$last" EndTime))) -lt 120 ]
ok "and these are not there for others" await "the count" any_is 2 2

small=() # behind it
for _ in 1 2 3; do small+=("$(submit -t 5)"); done
scancel "$first"
ok "a GPU of the box is free" await "the count" free_licenses_are rgpu 1
scancel "$other"
ok "when one of the other box is free the next job has it" await "its start" job_is "${small[0]}" RUNNING
is "$(box_of "${small[0]}")" box1 "there"
ok "and no other starts" job_is "${small[1]}" PENDING
has_reason() { [[ $(pending_reason "$1") =~ ^(Priority|Licenses|Resources)$ ]]; } # by Slurm's version
for job in "${small[@]:1}"; do ok "which has a reason" await "its reason" has_reason "$job"; done
scancel "$second"
ok "when the box is free the job starts" await "its start" job_is "$large" RUNNING
is "$(box_of "$large")" box2 "there"
is "$(job_field "$large" Restarts)" 0 "at the first try"
ok "the jobs behind it still wait" job_is "${small[1]}" PENDING
scancel -u $ALICE
ok "all end" await "no leases" no_leases
ok "all is free again" await "the count" any_is 4 0
no_class() { [ -z "$(license_field "$class" Total)" ]; }
ok "and the licence of the class is gone" await "its end" no_class

# Short jobs of two kinds by turns, which are after the same GPUs: never is there more than the box has, nor is more of it in use, and
# none of them is started for GPUs that one of the other kind gets.
jobs=()
for i in $(seq 24); do
    kind=()
    [ $((i % 2)) = 0 ] || kind=(--rgpu-constraint=box=box1)
    jobs+=("$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 -t 1 "${kind[@]}" --wrap 'sleep 0.7')")
done
class=$(class_of "${jobs[0]}")
excess() {
    scontrol -o show license | sed -n 's/^LicenseName=\(rgpu_[^ ]*\) Total=\([0-9]*\) Used=\([0-9]*\).*/\1 \2 \3/p' |
        awk -v class="$class" '$1 != "rgpu_mem" && ($3 > $2 || $1 == class && $2 > 2)'
}
: >"$TMP/excess"
# slurmctld answers with one number from before a change and one from after it, but not twice in a row.
while [ -n "$(squeue -h)" ]; do { excess && excess; } | sort | uniq -d >>"$TMP/excess"; done
is "$(sort "$TMP/excess" | uniq -c)" "" "with jobs that come and go there are never more than two, nor more in use than there are"
is "$(grep -c 'prep/rgpu: JobId=' "$SLURM_DIR/slurmctld.log")" 0 "and no job was started in vain"
ok "the invariants hold" invariants --idle
done_testing
