#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm gives the whole node to some jobs, with all that is counted on it. Those that did not ask for
# remote GPUs run as they would without us, also while the pool is broken; those that did have what seconds: 600
# they asked for and no more.
. "$(dirname "$0")/cluster.sh"
start_pool_cluster "PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE State=UP"
start_sync
await "parking" free_licenses_are rgpu 4

ran() { batch $ALICE -o out "$@" --wrap "srun --export=ALL $SAY; $SAY" && [ "$(sort -u out)" = "none none" ]; }
SAY="sh -c 'echo \${RGPU_COUNT-none} \${RGPU_TICKET_FILE-none}'"
alone() {
    ok "$1: sbatch --exclusive" ran --exclusive
    ok "$1: a partition that gives whole nodes" ran -p whole -N2
    ok "$1: sbatch --exclusive --gres=none" ran --exclusive --gres=none
    is "$(as $ALICE srun --exclusive sh -c 'echo ${RGPU_COUNT-none} ${RGPU_TICKET_FILE-none}' 2>&1)" "none none" \
        "$1: srun --exclusive"
    is "$(as $ALICE salloc -Q --exclusive srun sh -c 'echo ${RGPU_COUNT-none}' 2>&1)" none "$1: salloc --exclusive"
}
alone "all is well"
ok "nobody has a lease" no_leases

out=$(as $ALICE srun --exclusive --gres=rgpu:1 "$SHOW" 2>&1)
like "$out" 'count=1 GPU-[^ ]*$' "--exclusive --gres=rgpu:1 has one"
ok "the same as a batch job" batch $ALICE -o out --exclusive --gres=rgpu:1 --wrap "$SHOW; srun $SHOW"
is "$(grep -c 'count=1 GPU-[^ ]*$' out)" 2 "has one in the script and in its step"
job=$(batch $ALICE -o out --exclusive -N2 --gres=rgpu:2 --wrap "srun $SHOW")
is "$(uuids <out | wc -l)" 4 "on two nodes two each"
accounted() { sacct -X -n -P -j "$job" -o AllocTRES | grep -q 'license/rgpu=4'; }
ok "which is what the accounting says" await "the record" accounted

mv "$TMP/tickets" "$TMP/tickets.away"
: >"$TMP/tickets"
alone "the directory of tickets is none"
rm "$TMP/tickets"
mv "$TMP/tickets.away" "$TMP/tickets"
stop "$BROKER_PID" KILL
alone "the broker is away"
sed 's/^broker = .*/broker = 192.0.2.1:7310/' "$SLURM_DIR/rgpu.conf" >"$SLURM_DIR/rgpu.conf.new"
mv "$SLURM_DIR/rgpu.conf.new" "$SLURM_DIR/rgpu.conf"
alone "nothing answers at the broker's address"
echo 'no such setting' >>"$SLURM_DIR/rgpu.conf"
alone "the settings cannot be read"
mv "$PLUGINS/rgpu_step.so" "$PLUGINS/rgpu_step.away"
alone "a part of the plugins is missing"
mv "$PLUGINS/rgpu_step.away" "$PLUGINS/rgpu_step.so"
mv "$PLUGINS/spank_rgpu.so" "$PLUGINS/spank_rgpu.away"
ok "without the SPANK plugin: sbatch --exclusive" batch $ALICE -o out --exclusive --wrap "srun true"
ok "srun" as $ALICE srun --exclusive true
ok "no node is drained" await "idle nodes" nodes_idle
done_testing
