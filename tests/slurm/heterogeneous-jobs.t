#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A heterogeneous job has GPUs in each of its parts, and a step over several parts has those of each. seconds: 600
. "$(dirname "$0")/cluster.sh"
# Jobs of several parts are started by the plan of all waiting jobs only, every 30 seconds.
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,bf_interval=1"
start_sync
groups() { sort "$@" | awk '{ print $2, NF - 2 }' | xargs; }

out=$(as $ALICE srun -n1 --gres=rgpu:1 "$SHOW" : -n1 --gres=rgpu:2 "$SHOW" 2>/dev/null)
is "$(groups <<<"$out")" "count=1 1 count=2 2" "srun a : b"
is "$(uuids <<<"$out" | wc -l)" 3 "has three GPUs"
out=$(as $ALICE srun -n1 hostname : -n1 --gres=rgpu:2 "$SHOW" 2>&1)
is "$(grep -c GPU- <<<"$out")" 1 "a part without GPUs beside one with two"

cat >het.sh <<END
#!/bin/bash
#SBATCH --gres=rgpu:1
#SBATCH hetjob
#SBATCH --gres=rgpu:1 -N2
$SHOW >script.gpus
srun --het-group=0,1 $SHOW >both.gpus
srun --het-group=1 $SHOW >second.gpus
srun --het-group=0 $SHOW >first.gpus
srun $SHOW : $SHOW >colon.gpus
END
chmod 755 het.sh
ok "a batch job of two parts" batch $ALICE -o het.out het.sh
diag "$(cat het.out)"
is "$(uuids <both.gpus | wc -l)" 3 "srun --het-group=0,1 has the GPUs of both"
is "$(uuids <colon.gpus)" "$(uuids <both.gpus)" "srun a : b too"
is "$(uuids <first.gpus)" "$(uuids <script.gpus)" "a step in the first part those of the script"
is "$(cat first.gpus second.gpus | uuids)" "$(uuids <both.gpus)" "a step in the second part the others"
is "$(grep -c 'count=1 GPU-[^ ]*$' second.gpus)" 2 "one on each of its nodes"
ok "a program computes on all of them" as $ALICE srun -n1 --gres=rgpu:1 "$SAXPY" : -n1 --gres=rgpu:1 "$SAXPY"
ok "all end" await "no leases" no_leases
ok "no ticket is left" await "the end of the tickets" no_tickets
ok "the invariants hold" invariants --idle
done_testing
