#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Five hundred random events - short jobs, cancels, requeues, kills of every daemon - and afterwards
# no lease without a job, no job without a lease, and Slurm's counters equal to the broker's. seconds: 600
# SOAK_SEED repeats a run; SOAK_EVENTS and SOAK_SECONDS make it longer, as make check-kill does.
DOWN_SECONDS=10
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
RANDOM=${SOAK_SEED:-$((SECONDS + $$ % 32768))}
echo "# SOAK_SEED=${SOAK_SEED:-$RANDOM}"
RANDOM=${SOAK_SEED:-$RANDOM}
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
kinds=("$SAXPY" true false 'timeout 0.3 cat <gate' 'exec cat <gate' 'trap "" TERM; timeout 1 cat <gate')
shapes=(--gres=rgpu:1 --gres=rgpu:2 "--gres=rgpu:1 -N2" "--gres=rgpu:1 --array=0-1" --gres=rgpu:4)
submitted=0 cancelled=0 kills=0 bare=

submit() {
    local shape=${shapes[RANDOM % ${#shapes[@]}]} kind=${kinds[RANDOM % ${#kinds[@]}]}
    # shellcheck disable=SC2086
    as $ALICE sbatch --parsable -o /dev/null -t 1 $shape --wrap "$kind" >/dev/null 2>&1 && submitted=$((submitted + 1))
}
some_job() { squeue -h -o %A | shuf -n 1 --random-source=<(yes $RANDOM); }
queue_length() { squeue -h -r -o %A 2>/dev/null | wc -l; }
kill_something() {
    kills=$((kills + 1))
    case $((RANDOM % 4)) in
    0) stop "$SLURMCTLD_PID" KILL; start_slurmctld -i ;;
    1) stop "$BROKER_PID" KILL; start_broker --munge yes --munge-socket "$MUNGE_SOCKET" ;;
    2) stop "${SLURMD_PID[n2]}" KILL; start_slurmd n2 ;;
    3) stop "$SYNC_PID" KILL; start_sync ;;
    esac
}
event() {
    local job
    case $((RANDOM % 20)) in
    0) kill_something ;;
    [1-4]) job=$(some_job); [ -z "$job" ] || scancel "$job" 2>/dev/null; cancelled=$((cancelled + 1)) ;;
    5) job=$(some_job); [ -z "$job" ] || scontrol requeue "$job" >/dev/null 2>&1 ;;
    *) if [ "$(queue_length)" -lt 10 ]; then submit; else job=$(some_job); scancel "$job" 2>/dev/null; fi ;;
    esac
}
# Jobs that run before and after a look at the leases and have none. A slurmctld that was killed
# may take jobs for running that are over: only those count that have a process.
running_jobs() { squeue -h -o '%T %A' | sed -n 's/^RUNNING //p' | sort; }
has_process() {
    grep -lzxF "SLURM_JOB_ID=$1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qxF "SLURM_CONF=$SLURM_CONF" && echo "$pid"
    done 2>/dev/null | grep -q .
}
bare_jobs() {
    local before job
    before=$(running_jobs)
    for job in $before; do
        api GET "/v1/leases?key_prefix=slurm/test/$job/" | grep -q '"key"' || ! has_process "$job" ||
            ! running_jobs | grep -qx "$job" || echo "$job "
    done
}
limit=$((SECONDS + ${SOAK_SECONDS:-110})) events=0
while [ $events -lt "${SOAK_EVENTS:-500}" ] && [ $SECONDS -lt $limit ]; do
    event || true
    events=$((events + 1))
    [ $((events % 50)) != 0 ] || bare+=$(bare_jobs || true)
done
ok "$events events: $submitted jobs, $cancelled cancelled, $kills daemons killed" [ "$submitted" -gt 0 ]
is "$bare" "" "no job ran without a lease"
ok "the invariants hold in the middle of it" invariants
scancel -u $ALICE
queue_empty() { [ "$(queue_length)" = 0 ]; }
ok "all jobs end" await "an empty queue" queue_empty
ok "no lease is left without a job" await "no leases" no_leases
# A slurmctld that lost its last seconds may start a job a second time; slurmd then says so, and
# Slurm drains the node by itself. The reason stays where the node is drained no longer.
for node in "${SLURM_NODES[@]}"; do
    shown=$(scontrol show node "$node")
    [[ $shown != *State=*DRAIN* || $shown != *'Reason=Duplicate jobid'* ]] || scontrol update node="$node" state=resume ||
        diag "$shown" # it was drained no longer; below it has to be idle
done
ok "the nodes are idle, none is drained for our sake" await "idle nodes" nodes_idle
nodes_idle || diag "$(sinfo -N -o '%N %T %E'; squeue; tail -n 30 "$SLURM_DIR"/slurmd-n*.log)"
ok "the invariants hold" invariants --idle
# Slurm 22.05 itself miscounts licences when it is restarted while jobs complete; that is corrected.
nothing_used() { [ "$(license_field rgpu Used)" = 0 ]; }
ok "Slurm counts nothing as used" await "the correction" nothing_used
ok "and as much as free as the broker" await "parking" free_licenses_are rgpu 4
ok "a job still computes" as $ALICE srun --gres=rgpu:4 "$SAXPY"
no_ticket() { ! ls "$TMP/tickets" | grep -q ticket; }
ok "no ticket is left" await "the end of all tickets" no_ticket
done_testing
