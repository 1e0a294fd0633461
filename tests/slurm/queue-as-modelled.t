#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Slurm lets the same jobs run together as the model of a cluster that the studies compute turn-around and energy
# with, job end by job end: with GPUs of the nodes, with remote ones, by ranks, and with suspension. seconds: 500
# Shares of GPUs are not compared so: Slurm starts two jobs with shares of different sizes at once where each has room but not
# both, and which of them gets it is chance. QUEUE_SEED and RANK_SEED choose other jobs.
. "$(dirname "$0")/cluster.sh"
start_mixed_cluster 4 \
    "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=3600" \
    PreemptType=preempt/partition_prio PreemptMode=SUSPEND,GANG \
    "PartitionName=calm Nodes=ALL PriorityTier=2 PreemptMode=OFF OverSubscribe=FORCE:1 State=UP" \
    "PartitionName=low Nodes=ALL PriorityTier=2 OverSubscribe=FORCE:1 State=UP" \
    "PartitionName=urgent Nodes=ALL PriorityTier=10 OverSubscribe=FORCE:1 State=UP"
start_sync
await "the count" free_licenses_are rgpu 4
seed=${QUEUE_SEED:-$RANDOM}
echo "# QUEUE_SEED=$seed"
# play WAY GRES: the model's events one after the other; prints where Slurm differs.
play() {
    python3 "$TOP/bench/studies/programs/cluster_model.py" "$1" 14 "$seed" --gpus 4 --nodes 4 --cores 8 --parts 8 --per-hour 1e9 --json |
        python3 "$TOP/tests/slurm/lockstep.py" "$2" $ALICE
}
is "$(play node gpu)" "" "GPUs of the nodes: the jobs run together that the model lets run"
is "$(play remote rgpu)" "" "remote GPUs: the jobs run together that the model lets run"
# Ranks, and with them suspension, job by job as they come; not where an urgent job begins as another one ends for which a job
# was suspended: whether that goes on in between is chance. RANK_SEED chooses other jobs, the next for which that is so.
ranked_plan() { # WAY SEED
    python3 "$TOP/bench/studies/programs/cluster_model.py" "$1" 9 "$2" --gpus 4 --nodes 4 --cores 8 --parts 8 --per-hour 14 --json
}
is_clear() {
    python3 -c '
import json, sys
steps = json.load(sys.stdin)["steps"]
sys.exit(any(step["lent_on"] for step in steps) or sum(bool(step["suspended"]) for step in steps) < 2)'
}
seed=${RANK_SEED:-12}
until ranked_plan suspend "$seed" | is_clear; do seed=$((seed + 1)); done
echo "# RANK_SEED=$seed"
is "$(ranked_plan ranked "$seed" | python3 "$TOP/tests/slurm/lockstep.py" rgpu $ALICE calm)" "" "urgent jobs go before others as in the model"
is "$(ranked_plan suspend "$seed" | python3 "$TOP/tests/slurm/lockstep.py" rgpu $ALICE low)" "" "and have others suspended as in the model"
ok "all leases have ended" await "no leases" no_leases
done_testing
