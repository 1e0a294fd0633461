#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What waits for GPUs starts when they are there, by itself: the scheduler's own periods are so long
# here that whatever starts was started by the end of a job or by a change of the pool. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=36000,bf_interval=3600"
start_sync
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
mkfifo -m 666 "$TMP/work/gate"
hold="read -r line <$TMP/work/gate"
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }

await "the count" free_licenses_are rgpu 4
one=$(submit --gres=rgpu:4 --wrap "$hold")
ok "a job has all GPUs" await "its start" job_is "$one" RUNNING
two=$(submit --gres=rgpu:4 --wrap "$hold")
ok "another waits for them" await "its reason" pending_for "$two" Licenses
scancel "$one"
ok "and starts when the first has given them back" await "its start" job_is "$two" RUNNING
three=$(submit --gres=rgpu:1 --rgpu-constraint=box=box1 --wrap "$hold")
ok "one that wants a GPU of a certain box waits too" await "its reason" pending_for "$three" Licenses
echo >"$TMP/work/gate"
ok "and starts when the second has ended by itself" await "its start" job_is "$three" RUNNING

"$ctl" drain box2 >/dev/null
ok "a drained box's GPUs count no more" await "the count" free_licenses_are rgpu 1
four=$(submit --gres=rgpu:3 --wrap "$hold")
ok "a job that needs them waits" await "its reason" pending_for "$four" Licenses
"$ctl" undrain box2 >/dev/null
ok "and starts when they are back" await "its start" job_is "$four" RUNNING
scancel "$three" "$four"
ok "all end" await "no leases" no_leases
await "the counters" counters_agree # jobs that end hold licences for longer than their leases
outsider=$(api POST /v1/leases '{"request": {"gpus": [{"count": 4}]}}' | at lease.id)
ok "GPUs that somebody else has count no more" await "the count" free_licenses_are rgpu 0
five=$(submit --gres=rgpu:1 --wrap "$hold")
ok "a job waits for them" await "its reason" pending_for "$five" Licenses
api DELETE "/v1/leases/$outsider" >/dev/null
ok "and starts when they are given back" await "its start" job_is "$five" RUNNING
scancel "$five"
ok "all end" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
