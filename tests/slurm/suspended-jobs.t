#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that Slurm suspends gives its GPUs to another, and has them again when it goes on. seconds: 300
. "$(dirname "$0")/cluster.sh"
RGPU_JOBS=('count = no')
LICENSES=rgpu:4,rgpu_mem:65536
start_pool_cluster
start_sync
share "$BUILD/tests/held-data"
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
suspension() { api GET /v1/leases | at leases.0.suspension; }
suspended_is() { [ "$(suspension)" = "$1" ]; }
said() { grep -q "$1" "$TMP/work/out"; }
held() { api GET /v1/leases | at leases.0.gpus.0.held; }
gpu_is_free() { [ "$(held)" = False ]; }

job=$(as $ALICE sbatch --parsable -o "$TMP/work/out" --gres=rgpu:1 --wrap "exec $SHARED/held-data 4 <gate")
ok "a job computes" await "its data" said ready
scontrol suspend "$job"
ok "what Slurm suspends is suspended" await "the lease" suspended_is suspended
ok "and its GPU is for others" await "the GPU" gpu_is_free
echo look >&9
scontrol resume "$job"
ok "what Slurm resumes comes back" await "the lease" suspended_is ""
ok "with its data" await "the look" said '^right 1$'
scancel "$job"
ok "nothing is left" await "the end" no_leases
done_testing
