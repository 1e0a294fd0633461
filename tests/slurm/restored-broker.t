#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The broker's database is restored from a copy in the middle of jobs: those that run go on, one that has not used its GPU yet gets it,
# those that wait get theirs afterwards, none starts twice, and Slurm's counters are those of the broker. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
mkfifo -m 666 "$TMP/work/early" "$TMP/work/idle"
exec 7<>"$TMP/work/early" 8<>"$TMP/work/idle"
submit() { # NAME COMMAND [OPTION...]: sets JOB
    JOB=$(as $ALICE sbatch --parsable -o "$1.out" "${@:3}" --wrap "$2")
}
begun() { grep -q "$2" "$1.out"; }
computes() { local from; from=$(wc -l <"$1.out"); await "$1" eval "[ \$(wc -l <'$1.out') -gt $((from + 2)) ]"; }

submit before "exec $TMP/share/endure" --gres=rgpu:1
before=$JOB
submit over "read line <early" --gres=rgpu:1
over=$JOB
await "a job computes" begun before 'round 1'
await "another runs" job_is "$over" RUNNING
ok "a copy is made" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --backup "$TMP/copy"

# After the copy.
echo >&7
await "the end of a job that the copy has" job_is "$over" COMPLETED
submit after "exec $TMP/share/endure" --gres=rgpu:2
after=$JOB
submit idle "echo ready; read line <idle; exec $SAXPY" --gres=rgpu:1
idle=$JOB
await "a job computes" begun after 'round 1'
await "another has not used its GPU yet" begun idle ready
submit waiting "exec $SAXPY" --gres=rgpu:2
waiting=$JOB
await "another waits" job_is "$waiting" PENDING
ok "before it the counters agree" await "agreement" counters_agree
stop "$BROKER_PID" KILL
wait "$BROKER_PID" 2>/dev/null || true
ok "the copy is restored" "$BUILD/bin/rgpu-brokerd" --state-dir "$BROKER_DIR" --restore "$TMP/copy"
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
for box in box1 box2; do await "box $box" box_is $box up; done
ok "a job that the copy knows goes on" computes before
ok "and one that it does not know" computes after
key_of() { api GET '/v1/leases?key_prefix=slurm/' | grep -o "\"slurm/[^\"]*/$1/[^\"]*\""; }
ok "whose lease is adopted" await "the lease" key_of "$after"
over_is_gone() { ! key_of "$over"; }
ok "the job that had ended has no lease" await "the end" over_is_gone
echo >&8
ok "the job that had not used its GPU does so" await "its end" job_is "$idle" COMPLETED
ok "the counters agree" await "agreement" counters_agree
scancel "$after"
ok "the job that waited gets what comes free" await "its end" job_is "$waiting" COMPLETED
for job in "$before" "$after" "$idle" "$waiting"; do is "$(job_field "$job" Restarts)" 0 "job $job was started once"; done
is "$(grep -c 'has lost its GPUs' "$TMP/sync.log")" 0 "none has lost its GPUs"
scancel -u $ALICE
ok "all leases end" await "no leases" no_leases
ok "and the counters agree" await "agreement" counters_agree
ok "the invariants hold" invariants --idle
done_testing
