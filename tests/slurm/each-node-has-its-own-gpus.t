#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job of several nodes has other GPUs on each of them, however its steps are started: by srun alone,
# from a batch script, on some of the nodes, rank by rank, or with a false environment. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync

out=$(as $ALICE srun -N2 --gres=rgpu:2 "$SHOW" | sort)
is "$(uuids <<<"$out" | wc -l)" 4 "srun alone: two nodes with two GPUs each have four"

cat >job.sh <<END
#!/bin/sh
$SHOW >batch.gpus
srun $SHOW >both.gpus
first=\$(scontrol show hostnames \$SLURM_JOB_NODELIST | head -n 1)
last=\$(scontrol show hostnames \$SLURM_JOB_NODELIST | tail -n 1)
srun -N1 -n1 -w \$first $SHOW >first.gpus
srun -N1 -n1 -w \$last $SHOW >last.gpus
SLURMD_NODENAME=\$first SLURM_JOB_NODELIST=\$first srun -N1 -n1 -w \$last env $SHOW >false.gpus
RGPU_NODE=\$first RGPU_COUNT=1 srun -N1 -n1 -w \$last $SHOW >forged.gpus
END
chmod 755 job.sh
ok "a batch job on two nodes" as $ALICE sbatch --wait -o job.out -N2 --gres=rgpu:2 job.sh
diag "$(cat job.out)"
is "$(uuids <both.gpus | wc -l)" 4 "its srun has two GPUs on each, four in all"
is "$(uuids <first.gpus)" "$(uuids <batch.gpus)" "a step on the first node has those of the script"
is "$(cat first.gpus last.gpus | uuids)" "$(uuids <both.gpus)" "a step on the last node has the other two"
is "$(uuids <false.gpus)" "$(uuids <last.gpus)" "whatever the environment says of the nodes"
is "$(uuids <forged.gpus)" "$(uuids <last.gpus)" "or of our own variables"
unlike "$(as $ALICE srun -N1 --gres=rgpu:1 env)" '^RGPU_NODE=' "no variable of ours alone is left for programs"

rgpu_settings 'ranks = local'
cat >ranks.sh <<END
#!/bin/sh
srun -n4 --ntasks-per-node=2 $SHOW >ranks.gpus
END
chmod 755 ranks.sh
ok "a batch job whose ranks have a GPU each" as $ALICE sbatch --wait -o job.out -N2 -n4 --ntasks-per-node=2 --gres=rgpu:2 ranks.sh
is "$(uuids <ranks.gpus | wc -l)" 4 "has four different ones"
is "$(grep -c 'count=1 GPU-[^ ]*$' ranks.gpus)" 4 "one for each rank"
ok "all end" await "no leases" no_leases
ok "no ticket and no lock is left" await "the end of the tickets" no_tickets
done_testing
