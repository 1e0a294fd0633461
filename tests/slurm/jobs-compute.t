#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users write: sbatch, srun and salloc with --gres=rgpu:N run unmodified CUDA programs, and
# when a job is over its GPUs are back. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster

ok "srun" as $ALICE srun --gres=rgpu:1 "$SAXPY"
ok "its GPU is back" await "its end" no_leases
out=$(as $ALICE srun --gres=rgpu:2 sh -c 'echo count=$RGPU_COUNT file=$RGPU_TICKET_FILE; cat $RGPU_TICKET_FILE | wc -l')
like "$out" '^count=2 file=/' "a step finds its count and its ticket"
like "$(as $ALICE srun --gres=rgpu:2 "$DEVICES" || true)" '^ok .* both devices' "and computes on both"
job=$(as $ALICE sbatch --parsable -o batch.out --gres=rgpu:2 --wrap "$SAXPY && srun --gres=rgpu:1 $DEVICES")
ok "sbatch" await "the job" job_is "$job" COMPLETED
like "$(cat batch.out)" 'SKIP one device only' "a step with fewer GPUs than its job sees fewer"
ok "salloc" as $ALICE salloc --gres=rgpu:1 srun "$SAXPY"
ok "all GPUs are back" await "no leases" no_leases
ok "no ticket is left" await "the end of the tickets" no_tickets
ok "the invariants hold" invariants --idle
done_testing
