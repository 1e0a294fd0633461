#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm numbers the GPUs of a node in CUDA_VISIBLE_DEVICES for a job that has some, and an environment that comes with a
# job may number others: neither chooses among the remote GPUs of a step. A script may choose among these. --gpus and the like ask
# for GPUs of the nodes, in partitions that gpus_partitions names for remote ones. seconds: 300
. "$(dirname "$0")/cluster.sh"
RGPU_JOBS=('gpus_partitions = other, remote')
start_mixed_cluster 2 "PartitionName=remote Nodes=ALL"
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

# ask OPTION...: the licences of a job that is submitted so, or why it is not.
ask() {
    local job
    job=$(as $ALICE sbatch --parsable --hold -o /dev/null "$@" --wrap true 2>&1) || { echo "$job"; return; }
    job_field "$job" Licenses
    scancel "$job"
}
is "$(ask -N1 --gpus=1)" "(null)" "elsewhere --gpus asks for a GPU of a node"
is "$(ask -p remote --gpus=2)" rgpu:2 "in that partition for remote ones"
is "$(ask -p remote -N2 --gpus=4)" rgpu:4 "of the whole job"
is "$(ask -p remote -N2 --gpus-per-node=2)" rgpu:4 "for each node"
is "$(ask -p remote -n4 -N2 --gpus-per-task=1)" rgpu:4 "for each task"
is "$(ask -p remote --gres=gpu:3)" rgpu:3 "by --gres=gpu"
like "$(ask -p remote --gpus=software:1)" '^rgpu:1,rgpu_model_software:1$' "and a model"
like "$(ask -p remote -N2 --gpus=3)" 'as many for each node' "what cannot be divided is refused"
like "$(ask -p remote --gpus=1 --gpus-per-node=1)" 'give one of --gpus' "so are two of them"
like "$(ask -p remote --gpus=1 --cpus-per-gpu=2)" '--cpus-per-task' "and what counts processors by GPUs"
like "$(ask -p p,remote -N1 --gpus=1)" '^\(null\)$' "a job for other partitions, too, asks for GPUs of nodes"
out=$(as $ALICE srun -p remote --gpus=1 true 2>&1 || true)
like "$out" 'srun and salloc cannot ask so: ask with --gres=rgpu:N' "srun is refused with the way to ask"
cat >job.sh <<END
#!/bin/sh
$SEEN >batch.seen
srun $SEEN >step.seen
END
ok "a batch job" batch $ALICE -o job.out -p remote -N2 -n2 --gpus=4 job.sh
is "$(cat batch.seen)" "result 0 devices 2" "has the remote GPUs of its node"
is "$(sort -u step.seen)" "result 0 devices 2" "and so have its steps"
ok "all leases have ended" await "no leases" no_leases
done_testing
