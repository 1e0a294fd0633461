#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Slurm lets the same jobs run together as the model of a cluster that the studies compute turn-around and energy
# with, job end by job end: with GPUs of the nodes, with remote ones, and with shares of remote ones. QUEUE_SEED chooses other
# jobs. seconds: 300
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
# What an eighth of a GPU is, when the contexts of eight jobs are there as well: memory is scarcer than cores.
unit=$(api GET /v1/gpus | python3 -c 'import json, sys
print(min((g["free"] - 8 * g["context"]) // 8 >> 20 for g in json.load(sys.stdin)["gpus"]))')
# play WAY: the model's events one after the other; prints where Slurm differs.
play() {
    python3 "$TOP/studies/programs/cluster_model.py" "$1" 14 "$seed" --gpus 4 --nodes 4 --cores 8 --parts 8 --per-hour 1e9 --json |
        python3 "$TOP/tests/slurm/lockstep.py" "$1" $ALICE "$unit"
}
for way in node remote; do
    is "$(play $way)" "" "$way: the jobs run together that the model lets run"
done
for gpu in box1:0 box1:1 box2:0 box2:1; do
    RGPU_BROKER=unix:$BROKER_SOCKET "$BUILD/bin/rgpuctl" mode $gpu shared >&2
done
is "$(play pack)" "" "pack: the jobs run together that the model lets run"
ok "all leases have ended" await "no leases" no_leases
done_testing
