#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# GPUs of mode auto are given whole or in shares as jobs ask, by turns and without an administrator; Slurm
# counts each free one as both, and starts no job in vain. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=36000,bf_interval=3600"
start_sync
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
hold='exec cat <gate'
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
modes() { api GET /v1/gpus | python3 -c '
import collections, json, sys
modes = collections.Counter(g["mode"] for g in json.load(sys.stdin)["gpus"] if g["leases"])
print(" ".join("%s=%d" % item for item in sorted(modes.items())))'; }
shares_to_give() { [ "$(free_licenses rgpu_mem)" -gt 0 ]; }

await "the count" free_licenses_are rgpu 4
one=$(submit --gres=rgpu:1 --wrap "$hold")
await "its start" job_is "$one" RUNNING
for gpu in box1:0 box1:1 box2:0 box2:1; do
    ok "$gpu changes its mode by itself, whoever holds it" "$ctl" mode $gpu auto
done
ok "what is free counts as memory for shares too" await "the count" shares_to_give
is "$(free_licenses rgpu)" 3 "and as whole GPUs"
all=$(api GET /v1/gpus | at gpus.0.memory)
share=$((all / (1 << 20) / 4))
two=$(submit --gres=rgpu:1 --rgpu-mem=${share}M --wrap "$hold")
three=$(submit --gres=rgpu:1 --rgpu-mem=${share}M --wrap "$hold")
ok "shares run beside it" await "the leases" leases_are 3
is "$(modes)" "exclusive=1 shared=1" "both on one GPU"
ok "which counts as whole no more" await "the count" free_licenses_are rgpu 2
four=$(submit --gres=rgpu:2 --wrap "$hold")
ok "the others are given whole" await "its start" job_is "$four" RUNNING
five=$(submit --gres=rgpu:1 --wrap "$hold")
ok "a further whole one is waited for" await "its reason" pending_for "$five" Licenses
scancel "$two"
is "$(modes)" "exclusive=3 shared=1" "while a share is left"
scancel "$three"
ok "and is the one whose shares have ended" await "its start" job_is "$five" RUNNING
is "$(modes)" "exclusive=4" "given whole"
await "the count" free_licenses_are rgpu 0
await "the count" free_licenses_are rgpu_mem 0 # follows the lease by a moment, in which a share would start in vain
six=$(submit --gres=rgpu:1 --rgpu-mem=${share}M --wrap "$hold")
ok "now a share waits" await "its reason" pending_for "$six" Licenses
scancel "$one"
ok "for a whole GPU to come back" await "its start" job_is "$six" RUNNING
is "$(for job in $two $three $four $five $six; do job_field "$job" Restarts; done | sort -u)" 0 "no job was started in vain"
scancel -u $ALICE
await "no leases" no_leases
await "the count" free_licenses_are rgpu 4
# Slurm counts whole GPUs and shares for themselves: the end of a job frees both.
before=$(submit --gres=rgpu:3 --wrap "$hold")
await "its start" job_is "$before" RUNNING
await "the count" free_licenses_are rgpu 1
whole=$(submit --gres=rgpu:4 --wrap "$hold")
part=$(submit --gres=rgpu:1 --rgpu-mem=${share}M --wrap "$hold")
await "its reason" pending_for "$whole" Licenses
counted() { scontrol show license | grep -q "LicenseName=rgpu_share"; }
await "the count of shares" counted
scancel "$before"
ok "who waits for whole GPUs gets them" await "its start" job_is "$whole" RUNNING
is "$(job_field "$part" JobState)" PENDING "and nobody else starts in vain"
scancel "$whole"
ok "and then a share is given" await "its start" job_is "$part" RUNNING
is "$(job_field "$part" Restarts) $(grep -c "Allocate JobId=$part " "$SLURM_DIR/slurmctld.log")" "0 1" "once"
fails "a mode that is held otherwise stays" "$ctl" mode box1:0 nonsense
scancel -u $ALICE
ok "all end" await "no leases" no_leases
stop "$BROKER_PID" KILL
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
await "box1" box_is box1 up
is "$(api GET /v1/gpus | at gpus.0.auto)" True "the broker knows after a restart"
ok "the invariants hold" invariants --idle
done_testing
