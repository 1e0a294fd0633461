#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cluster that the other tests of this folder stand on: it starts, runs jobs, and goes. seconds: 600
. "$(dirname "$0")/cluster.sh"
require_slurm

start_munged
slurm_settings
start_slurm
mkdir -m 777 "$TMP/work"
cd "$TMP/work"
is "$(srun -N3 -l hostname | wc -l)" 3 "a step on three nodes"
is "$(as $ALICE srun id -un)" "$ALICE" "a step of another user"
job=$(as $ALICE sbatch --parsable -o "$TMP/work/out" --wrap 'echo done')
ok "a batch job runs" await "its end" job_is "$job" COMPLETED
is "$(cat out)" "done" "and writes where it should"
done_testing
