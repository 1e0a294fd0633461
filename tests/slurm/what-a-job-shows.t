#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users and administrators see of a job's GPUs: which they are, in which mode, for how long; and
# what they are told of requests that ask for nothing or for more than they seem to. seconds: 600
. "$(dirname "$0")/cluster.sh"
GRES_TYPES=rgpu,gpu start_pool_cluster # no node has gpu
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
await "parking" free_licenses_are rgpu 4

job=$(as $ALICE sbatch --parsable -o out --gres=rgpu:2 --rgpu-constraint=box=box2 --wrap 'exec cat <gate')
ok "a job runs" await "it" job_is "$job" RUNNING
like "$(scontrol show job "$job")" 'AdminComment=rgpu: exclusive box2:[01] box2:[01] type=rgpu_software_GPU constraint=box=box2 *$' "scontrol show job says which GPUs, of which type, how and why"
scancel "$job"
await "no leases" no_leases
accounted() { sacct -X -n -P -j "$job" -o AdminComment,AllocTRES | grep -q 'rgpu: exclusive box2:.*license/rgpu=2'; }
ok "sacct keeps it, and how many licences" await "the record" accounted
shown=$(as $ALICE srun --gres=rgpu:1 sh -c 'scontrol show job $SLURM_JOB_ID' | grep AdminComment)
like "$shown" 'rgpu: exclusive box[12]:[01] type=rgpu_software_GPU *$' "srun's job shows it too"
job=$(batch $ALICE -o out --comment=mine --gres=rgpu:1 --wrap true)
is "$(job_field "$job" Comment)" mine "a user's own comment stays"

out=$(as $ALICE sbatch -o /dev/null --rgpu-mem=1G --wrap true 2>&1)
like "$out" 'without --gres=rgpu:N asks for no remote GPUs' "--rgpu-mem alone is warned of"
like "$out" 'Submitted' "and the job runs"
is "$(as $ALICE srun -n2 --ntasks-per-node=1 --gres=rgpu:1 "$SHOW" 2>/dev/null | uuids | wc -l)" 2 "srun -n2 --ntasks-per-node=1 is two nodes"
for option in --gpus=rgpu:2 --gpus-per-task=rgpu:1 --gpus-per-node=rgpu:1 --gpus-per-socket=rgpu:1; do
    out=$(as $ALICE sbatch -n1 --sockets-per-node=1 $option --wrap true 2>&1 || true)
    unlike "$out" 'Submitted' "$option is refused"
done
for option in --gpus=2 --gpus-per-task=1 --gpus-per-node=h200:1 --gres=gpu:1; do
    out=$(as $ALICE sbatch -n1 $option --wrap true 2>&1 || true)
    like "$out" 'no node has GPUs of its own; remote GPUs are asked for with --gres=rgpu:N' "$option is refused with the way to ask"
done

# A limit on GPUs is a limit on their licences.
sacctmgr -i -Q modify account everybody set GrpTRES=license/rgpu=1 >/dev/null
job=$(as $ALICE sbatch --parsable -o out --gres=rgpu:2 --wrap true)
limited() { [[ $(pending_reason "$job") == *Limit* || $(pending_reason "$job") == Assoc* ]]; }
ok "a limit of GPUs for an account holds" await "the reason" limited
sacctmgr -i -Q modify account everybody set GrpTRES=license/rgpu=-1 >/dev/null
ok "and goes" await "its end" job_is "$job" COMPLETED
ok "all end" await "no leases" no_leases

# The broker's account of a user against Slurm's: the same jobs, and no less time than they ran.
of_slurm() { # jobs that held GPUs, and their GPU-seconds, less a second of each GPU that Slurm may have rounded up
    sacct -X -n -P -u "$ALICE" -S now-1days -o ElapsedRaw,AllocTRES | awk -F'|' '
        match($2, "license/rgpu=[0-9]+") { gpus = substr($2, RSTART + 13, RLENGTH - 13); jobs++; seconds += gpus * ($1 - 1) }
        END { print jobs, seconds }'
}
of_broker() { api GET "/v1/usage?from=$(($(date +%s) - 86400))&owner=$(id -u "$ALICE")" | at "users.0.$1"; }
jobs_agree() { [ "$(of_slurm | cut -d' ' -f1)" = "$(of_broker leases)" ]; }
ok "Slurm's accounting and the broker's know the same jobs" await "the records" jobs_agree
ok "and the broker counts no less time than Slurm" python3 -c 'import sys; sys.exit(float(sys.argv[1]) * 3600 < float(sys.argv[2]))' \
    "$(of_broker gpu_hours)" "$(of_slurm | cut -d' ' -f2)"
done_testing
