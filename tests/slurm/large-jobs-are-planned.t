#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A large job that waits for GPUs has a time at which it will start, also where the pool has fewer
# than slurm.conf counts: small jobs go in front of it only where they end before that, also while there are reservations, with
# which Slurm plans no job that lacks licences. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=1,bf_resolution=60"
start_sync
mkfifo -m 666 "$TMP/work/gate"
hold="read -r line <$TMP/work/gate"
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
planned() { [[ $(job_field "$1" StartTime) == 20* ]]; }

await "the count" free_licenses_are rgpu 4
first=$(submit --gres=rgpu:1 -t 30 --wrap "$hold")
await "its start" job_is "$first" RUNNING
large=$(submit --gres=rgpu:4 -t 30 --wrap "$hold")
ok "a job of all GPUs waits" await "its reason" pending_for "$large" Licenses
ok "and its start is planned" await "the plan" planned "$large"
long=$(submit --gres=rgpu:1 -t 120 --wrap "$hold")
short=$(submit --gres=rgpu:1 -t 5 --wrap "$hold")
ok "a small job that ends before goes in front" await "its start" job_is "$short" RUNNING
ok "one that would delay it is planned behind it" await "the plan" planned "$long"
ok "and waits" job_is "$long" PENDING
scancel "$first" "$short"
ok "the large job starts before the small one" await "its start" job_is "$large" RUNNING
ok "which waits still" job_is "$long" PENDING
scancel "$large" "$long"
ok "all end" await "no leases" no_leases

scontrol create reservation ReservationName=later users=root StartTime=now+7days Duration=60 Nodes=n3 >/dev/null
await "the count" free_licenses_are rgpu 4
first=$(submit --gres=rgpu:1 -t 30 --wrap "$hold")
await "its start" job_is "$first" RUNNING
large=$(submit --gres=rgpu:4 -t 30 --wrap "$hold")
ok "a job of all GPUs waits beside a reservation" await "its reason" pending_for "$large" Licenses
at_the_end_of() { [ "$(squeue -h --start -j "$large" -o %S)" = "$(job_field "$1" EndTime)" ]; }
ok "and its start is planned for the end of the job that has a GPU" await "the plan" at_the_end_of "$first"
long=$(submit --gres=rgpu:1 -t 120 --wrap "$hold")
short=$(submit --gres=rgpu:1 -t 5 --wrap "$hold")
ok "a small job that ends before goes in front" await "its start" job_is "$short" RUNNING
later=$(submit --gres=rgpu:1 -t 5 --wrap "$hold")
ok "and another one" await "its start" job_is "$later" RUNNING
ok "one that would delay it waits" job_is "$long" PENDING
scancel "$first" "$short" "$later"
ok "the large job starts before the small one" await "its start" job_is "$large" RUNNING
ok "which waits still" job_is "$long" PENDING
scancel "$large" "$long"
ok "all end" await "no leases" no_leases
done_testing
