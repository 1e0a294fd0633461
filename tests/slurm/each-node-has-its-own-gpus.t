#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job of several nodes has other GPUs on each, however its steps are started: by srun, from a batch script, on some nodes,
# rank by rank, or with a false environment; with --rgpu-all it sees all, and NCCL's ranks reach each other. seconds: 600
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
ok "a batch job on two nodes" batch $ALICE -o job.out -N2 --gres=rgpu:2 job.sh
diag "$(cat job.out)"
is "$(uuids <both.gpus | wc -l)" 4 "its srun has two GPUs on each, four in all"
is "$(uuids <first.gpus)" "$(uuids <batch.gpus)" "a step on the first node has those of the script"
is "$(cat first.gpus last.gpus | uuids)" "$(uuids <both.gpus)" "a step on the last node has the other two"
is "$(uuids <false.gpus)" "$(uuids <last.gpus)" "whatever the environment says of the nodes"
is "$(uuids <forged.gpus)" "$(uuids <last.gpus)" "or of our own variables"
unlike "$(as $ALICE srun -N1 --gres=rgpu:1 env)" '^RGPU_NODE=' "no variable of ours alone is left for programs"

cat >all.sh <<END
#!/bin/sh
srun $SHOW >own.gpus
srun --rgpu-all $SHOW >all.gpus
srun --rgpu-all sh -c 'echo \$SLURM_PROCID \$CUDA_VISIBLE_DEVICES' >order.gpus
srun sh -c '$TMP/share/ranks_collect 2 \$SLURM_PROCID 1 id-own >own-rank\$SLURM_PROCID.out 2>&1'
srun --rgpu-all sh -c '$TMP/share/ranks_collect 2 \$SLURM_PROCID 1 id >rank\$SLURM_PROCID.out 2>&1'
END
chmod 755 all.sh
mkdir "$TMP/share/lib/nccl"
cp "$BUILD/lib/nccl/libnccl.so.2" "$TMP/share/lib/nccl/"
cp "$BUILD/lib/librgpu.so.1" "$TMP/share/lib/"
cp "$BUILD/tests/nccl/ranks_collect" "$TMP/share/"
chmod -R a+rX "$TMP/share"
ok "a batch job whose steps see all GPUs, and whose ranks on two nodes compute with NCCL" \
    batch $ALICE -o job.out -N2 --gres=rgpu:2 all.sh
diag "$(cat job.out rank?.out own-rank?.out)"
is "$(grep -c 'count=2\( GPU-[^ ]*\)\{4\}$' all.gpus)" 2 "each of the two has tickets for all four"
for i in 0 1; do
    is "$(sed -n "s/^$i //p" order.gpus | cut -d, -f1,2 | tr , ' ' | uuids)" "$(grep "^$i " own.gpus | uuids)" \
        "the task of node $i has its own first"
    is "$(sed -n "s/^$i //p" order.gpus | tr , ' ' | uuids)" "$(uuids <own.gpus)" "and then the other's"
    like "$(cat "own-rank$i.out")" '^1\.\.[1-9]' "rank $i that sees its own node's GPUs has come to its end"
    unlike "$(cat "own-rank$i.out")" '^not ok' "and all that it computed is right"
    like "$(cat "rank$i.out")" '^1\.\.[1-9]' "rank $i has come to its end"
    unlike "$(cat "rank$i.out")" '^not ok' "and all that it computed is right"
done

rgpu_settings 'ranks = local'
cat >ranks.sh <<END
#!/bin/sh
srun -n4 --ntasks-per-node=2 $SHOW >ranks.gpus
srun -n4 --ntasks-per-node=2 sh -c '$TMP/share/ranks_collect 4 \$SLURM_PROCID 1 id-local >local-rank\$SLURM_PROCID.out 2>&1'
END
chmod 755 ranks.sh
ok "a batch job whose ranks have a GPU each" batch $ALICE -o job.out -N2 -n4 --ntasks-per-node=2 --gres=rgpu:2 ranks.sh
is "$(uuids <ranks.gpus | wc -l)" 4 "has four different ones"
is "$(grep -c 'count=1 GPU-[^ ]*$' ranks.gpus)" 4 "one for each rank"
for i in 0 1 2 3; do
    like "$(cat "local-rank$i.out")" '^1\.\.[1-9]' "rank $i of four that see one GPU each has come to its end"
    unlike "$(cat "local-rank$i.out")" '^not ok' "and all that it computed is right"
done
ok "all end" await "no leases" no_leases
ok "no ticket and no lock is left" await "the end of the tickets" no_tickets
done_testing
