#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm counts what the pool can give: jobs wait for GPUs that are not there, and the count follows
# boxes that drain, die and come back, and GPUs that are shared out. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
hold="read -r line <$TMP/work/gate"
mkfifo -m 666 "$TMP/work/gate"
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }

ok "as many licences are free as there are GPUs" await "the count" free_licenses_are rgpu 4
ok "and none for shares, of which there are none" free_licenses_are rgpu_mem 0
one=$(submit --gres=rgpu:2 --wrap "$hold")
two=$(submit --gres=rgpu:2 --wrap "$hold")
ok "two jobs run" await "two leases" leases_are 2
ok "the counts agree with the leases" counters_agree
three=$(submit --gres=rgpu:2 --wrap "$SAXPY")
ok "a third waits for licences" await "its reason" pending_for "$three" Licenses
is "$(free_licenses rgpu)" 0 "none is left"
scancel "$one"
ok "and starts when one ends" await "its end" job_is "$three" COMPLETED
scancel "$two"
ok "all end" await "no leases" no_leases

"$ctl" drain box2 >/dev/null
ok "a drained box's GPUs count no more" await "the count" free_licenses_are rgpu 2
four=$(submit --gres=rgpu:3 --wrap "$SAXPY")
ok "a job that needs them waits" await "its reason" pending_for "$four" Licenses
"$ctl" undrain box2 >/dev/null
ok "and runs when they are back" await "its end" job_is "$four" COMPLETED

await "no leases" no_leases
"$ctl" drain box1:0 >/dev/null && "$ctl" mode box1:0 shared >/dev/null && "$ctl" undrain box1:0 >/dev/null
ok "a GPU for shares is no exclusive one" await "the count" free_licenses_are rgpu 3
memory_to_share() { [ "$(free_licenses rgpu_mem)" -ge 1 ]; }
ok "but memory to share" await "the count" memory_to_share
out=$(as $ALICE srun --gres=rgpu:1 --rgpu-mem=500M "$SAXPY" 2>&1 && echo "status $?")
like "$out" '^status 0' "a share computes"
out=$(submit --gres=rgpu:1 --rgpu-mem=100G --wrap true 2>&1 || true)
like "$out" '0 of 4 GPUs of its kind have the memory' "a share of more than a GPU has is refused, with the reason"
out=$(submit --gres=rgpu:5 --wrap true 2>&1 || true)
like "$out" 'rgpu: the job asks for 5 GPUs, and the pool has 4' "more GPUs than there are is refused, by their number"
out=$(submit -N2 --gres=rgpu:3 --wrap true 2>&1 || true)
like "$out" 'asks for 6 GPUs on all its nodes, and the pool has 4' "on all nodes together"

# Shares are counted to the MiB, and those that no one GPU has room for wait without being started.
mib() { api GET /v1/gpus | python3 -c '
import json, sys
for gpu in json.load(sys.stdin)["gpus"]:
    if gpu["mode"] == "shared": print((gpu["free"] - gpu["context"]) >> 20)'; }
await "the end of the lease of the share that computed" no_leases
all=$(mib)
six=$(submit --gres=rgpu:1 --rgpu-mem="$all"M --wrap "$hold")
ok "a share of all of a GPU runs" await "its start" job_is "$six" RUNNING
seven=$(submit --gres=rgpu:1 --rgpu-mem=1M --wrap "$hold")
ok "the least further one waits" await "its reason" pending_for "$seven" Licenses
scancel "$six"
ok "and runs after it" await "its start" job_is "$seven" RUNNING
scancel "$seven"
await "no leases" no_leases
"$ctl" drain box1:1 >/dev/null && "$ctl" mode box1:1 shared >/dev/null && "$ctl" undrain box1:1 >/dev/null
two_to_share() { [ "$(free_licenses rgpu_mem)" -gt "$all" ]; }
ok "two GPUs to share" await "the count" two_to_share
most=$((all / 2 + all / 8))
six=$(submit --gres=rgpu:1 --rgpu-mem="$most"M --wrap "$hold")
seven=$(submit --gres=rgpu:1 --rgpu-mem="$most"M --wrap "$hold")
ok "each has room for a large share" await "two leases" leases_are 2
eight=$(submit --gres=rgpu:1 --rgpu-mem=$((all / 2))M --wrap "$hold")
ok "room that is scattered over both is none" await "its reason" pending_for "$eight" Licenses
is "$(job_field "$eight" Restarts)" 0 "which is found out without a start"
scancel "$six"
ok "one is free again" await "its start" job_is "$eight" RUNNING
scancel "$seven" "$eight"
await "no leases" no_leases
"$ctl" drain box1:1 >/dev/null && "$ctl" mode box1:1 exclusive >/dev/null && "$ctl" undrain box1:1 >/dev/null
await "the count" free_licenses_are rgpu 3

stop "$BOX_PID_box2" KILL
ok "a dead box's GPUs count no more" await "the count" free_licenses_are rgpu 1
start_cuda_box box2
ok "and free again when it is back" await "the count" free_licenses_are rgpu 3

# A large job is not starved by small ones that would always fit.
six=$(submit --gres=rgpu:2 --wrap "$hold")
await "the lease" leases_are 1
large=$(submit --gres=rgpu:3 -t 1 --wrap "$SAXPY")
await "its reason" pending_for "$large" Licenses
small=$(submit --gres=rgpu:1 -t 10 --wrap "$SAXPY")
considered() { [ "$(job_field "$small" LastSchedEval)" != Unknown ]; }
await "the scheduler's look at it" considered
ok "a small job behind a large one waits too" job_is "$small" PENDING
scancel "$six"
ok "the large one runs" await "its end" job_is "$large" COMPLETED
ok "and the small one" await "its end" job_is "$small" COMPLETED
is "$(granted_in_order "$small" "$large")" "$large $small" "in this order"
ok "all end" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
