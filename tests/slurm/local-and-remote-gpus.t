#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm numbers the GPUs of a node in CUDA_VISIBLE_DEVICES for a job that has some, and an environment that comes with a
# job may number others: neither chooses among the remote GPUs of a step. A script may choose among these. seconds: 300
. "$(dirname "$0")/cluster.sh"
SLURM_NODES=(n1 n2)
mkdir -p "$SLURM_DIR"
echo 'NodeName=n[1-2] Name=gpu File=/dev/null' >"$SLURM_DIR/gres.conf"
chmod 644 "$SLURM_DIR/gres.conf"
GRES_TYPES=rgpu,gpu NODE_GRES=rgpu:64,gpu:1 start_pool_cluster
start_sync

SEEN=$TMP/share/seen
cat >"$SEEN" <<'END'
#!/usr/bin/python3
import ctypes
cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
print("result", cuda.cuInit(0), "devices", cuda.cuDeviceGetCount(ctypes.byref(count)) or count.value)
END
chmod 755 "$SEEN"
like "$(as $ALICE srun -N1 --gres=gpu:1 env)" '^CUDA_VISIBLE_DEVICES=0$' "Slurm numbers the GPUs of a node"
is "$(as $ALICE srun -N1 --gres=gpu:1,rgpu:2 "$SEEN")" "result 0 devices 2" "which chooses none of the remote ones"
is "$(as $ALICE env CUDA_VISIBLE_DEVICES=1 srun -N1 --gres=rgpu:2 "$SEEN")" "result 0 devices 2" "nor does what came with the job"
is "$(as $ALICE env CUDA_VISIBLE_DEVICES= srun -N1 --gres=rgpu:1 "$SEEN")" "result 0 devices 1" "an empty list neither"
cat >job.sh <<END
#!/bin/sh
$SEEN >all.seen
CUDA_VISIBLE_DEVICES=1 $SEEN >one.seen
END
chmod 755 job.sh
ok "a batch job that chooses" batch $ALICE -o job.out -N1 --gres=rgpu:2,gpu:1 job.sh
is "$(cat all.seen)" "result 0 devices 2" "has two remote GPUs"
is "$(cat one.seen)" "result 0 devices 1" "and sees the one that it chose"
ok "all leases have ended" await "no leases" no_leases
done_testing
