#!/bin/bash
# Slurm counts what the pool can give: jobs wait for GPUs that are not there, and the count follows
# boxes that drain, die and come back, and GPUs that are shared out.
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
hold="read -r line <$TMP/work/gate"
mkfifo -m 666 "$TMP/work/gate"
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }

ok "of 16 licences as many are free as there are GPUs" await "parking" free_licenses_are rgpu 4
ok "and none for shares, of which there are none" free_licenses_are rgpu_mem 0
one=$(submit --gres=rgpu:2 --wrap "$hold")
two=$(submit --gres=rgpu:2 --wrap "$hold")
ok "two jobs run" await "two leases" leases_are 2
three=$(submit --gres=rgpu:2 --wrap "$SAXPY")
ok "a third waits for licences" await "its reason" pending_for "$three" Licenses
is "$(free_licenses rgpu)" 0 "none is left"
scancel "$one"
ok "and starts when one ends" await "its end" job_is "$three" COMPLETED
scancel "$two"
ok "all end" await "no leases" no_leases

"$ctl" drain box2 >/dev/null
ok "a drained box's GPUs are parked" await "parking" free_licenses_are rgpu 2
four=$(submit --gres=rgpu:3 --wrap "$SAXPY")
ok "a job that needs them waits" await "its reason" pending_for "$four" Licenses
"$ctl" undrain box2 >/dev/null
ok "and runs when they are back" await "its end" job_is "$four" COMPLETED

await "no leases" no_leases
"$ctl" drain box1:0 >/dev/null && "$ctl" mode box1:0 shared >/dev/null && "$ctl" undrain box1:0 >/dev/null
ok "a GPU for shares is no exclusive one" await "parking" free_licenses_are rgpu 3
memory_to_share() { [ "$(free_licenses rgpu_mem)" -ge 1 ]; }
ok "but memory to share" await "parking" memory_to_share
out=$(as $ALICE srun --gres=rgpu:1 --rgpu-mem=500M "$SAXPY" 2>&1 && echo "status $?")
like "$out" '^status 0' "a share computes"
five=$(submit --gres=rgpu:1 --rgpu-mem=100G --wrap true)
ok "a share of more than is free waits" await "its reason" pending_for "$five" Licenses
scancel "$five"

stop "$BOX_PID_box2" KILL
ok "a dead box's GPUs are parked" await "parking" free_licenses_are rgpu 1
start_cuda_box box2
ok "and free again when it is back" await "parking" free_licenses_are rgpu 3

# A large job is not starved by small ones that would always fit.
six=$(submit --gres=rgpu:2 --wrap "$hold")
await "the lease" leases_are 1
large=$(submit --gres=rgpu:3 -t 1 --wrap "$SAXPY")
await "its reason" pending_for "$large" Licenses
small=$(submit --gres=rgpu:1 -t 10 --wrap "$SAXPY")
ok "a small job behind a large one waits too" await "its reason" pending_for "$small" Priority
scancel "$six"
ok "the large one runs" await "its end" job_is "$large" COMPLETED
ok "and then the small one" await "its end" job_is "$small" COMPLETED
ok "all end" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
