#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Slurm lets the same jobs run together as the model of a cluster that the studies compute turn-around and energy
# with, job end by job end: with GPUs of the nodes and with remote ones. Shares of GPUs are not compared so: Slurm starts two jobs
# with shares of different sizes at once where each has room but not both, and which of them gets it is chance. QUEUE_SEED
# chooses other jobs. seconds: 300
. "$(dirname "$0")/cluster.sh"
SLURM_NODES=(n1 n2 n3 n4)
mkdir -p "$SLURM_DIR"
echo 'NodeName=n[1-4] Name=gpu File=/dev/null' >"$SLURM_DIR/gres.conf"
chmod 644 "$SLURM_DIR/gres.conf"
GRES_TYPES=rgpu,gpu NODE_GRES=rgpu:64,gpu:1 start_pool_cluster \
    "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=60,bf_interval=3600"
start_sync
await "the count" free_licenses_are rgpu 4
seed=${QUEUE_SEED:-$RANDOM}
echo "# QUEUE_SEED=$seed"
# play WAY GRES: the model's events one after the other; prints where Slurm differs.
play() {
    python3 "$TOP/studies/programs/cluster_model.py" "$1" 14 "$seed" --gpus 4 --nodes 4 --cores 8 --parts 8 --per-hour 1e9 --json |
        python3 "$TOP/tests/slurm/lockstep.py" "$2" $ALICE
}
is "$(play node gpu)" "" "GPUs of the nodes: the jobs run together that the model lets run"
is "$(play remote rgpu)" "" "remote GPUs: the jobs run together that the model lets run"
ok "all leases have ended" await "no leases" no_leases
done_testing
