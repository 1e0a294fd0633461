#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A slurmctld that is started while the broker is away counts what its jobs hold, and no less: it gives
# nothing twice, and has nothing to complain of. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=1"
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
hold='exec cat <gate'
submit() { as $ALICE sbatch --parsable -o /dev/null "$@"; }
cycles() { sdiag | sed -n '/Backfilling/,$s/^\tTotal cycles: *//p'; }
more_cycles() { [ "$(cycles)" -ge $((before + 2)) ]; }

await "the count" free_licenses_are rgpu 4
one=$(submit --gres=rgpu:2 --wrap "$hold")
two=$(submit --gres=rgpu:1 --wrap "$hold")
ok "two jobs run" await "their leases" leases_are 2
# slurmctld writes its records after a change, and goes by them.
scontrol update job="$two" comment="seen-$two"
saved() { grep -aqF "seen-$two" "$SLURM_DIR/state/job_state"; }
await "the record on disk" saved
stop "$BROKER_PID" KILL
stop "$SLURMCTLD_PID"
start_slurmctld
three=$(submit --gres=rgpu:2 -t 5 --wrap "$hold" || true)
counts_held() { [ "$(license_field rgpu Used)" = 3 ] && [ "$(free_licenses rgpu)" = 0 ]; }
ok "three GPUs are in use and none is free" await "the count" counts_held
: >"$SLURM_DIR/slurmctld.log"
before=$(cycles)
ok "backfill plans with them" await "its rounds" more_cycles
ok "a job waits" await "its reason" pending_for "$three" Licenses
scancel "$two"
gone() { ! squeue -h -j "$two" 2>/dev/null | grep -q .; }
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
ok "what ends meanwhile is counted once" await "its end" gone
ok "and starts when the broker is there and says that there are enough" await "its start" job_is "$three" RUNNING
ok "all counters agree" await "agreement" counters_agree
unlike "$(cat "$SLURM_DIR/slurmctld.log")" 'underflow' "Slurm has not counted below nothing"
scancel -u $ALICE
ok "all end" await "no leases" no_leases
ok "no node is drained" await "idle nodes" nodes_idle
done_testing
