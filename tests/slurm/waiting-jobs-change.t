#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that waits for GPUs may be changed, also while the pool has fewer than it asks for: its nodes, its
# GPUs, and what has nothing to do with them. seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
await "the count" free_licenses_are rgpu 4
outsider=$(api POST /v1/leases '{"request": {"gpus": [{"count": 4}]}}' | at lease.id)
await "the count" free_licenses_are rgpu 0
mine() { as $ALICE scontrol update job="$job" "$@"; }
licenses() { job_field "$job" Licenses; }

job=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 --wrap 'sleep 1000')
ok "a job waits" await "its reason" pending_for "$job" Licenses
ok "it gets another node" mine NumNodes=2
is "$(licenses)" rgpu:2 "and counts twice"
ok "and one again" mine NumNodes=1
is "$(licenses)" rgpu:1 "and counts once"
fails "a range of nodes is refused" mine NumNodes=1-2
ok "more GPUs on two nodes" mine NumNodes=2 gres=rgpu:2
is "$(licenses)" rgpu:4 "are counted"
fails "more than the pool has are refused" mine gres=rgpu:3
is "$(licenses)" rgpu:4 "and change nothing"
ok "another time limit" mine TimeLimit=7
ok "it is held" as $ALICE scontrol hold "$job"
ok "and released" as $ALICE scontrol release "$job"
is "$(licenses)" rgpu:4 "which is not counted anew"
fails "a model that no node is said to have is refused" mine gres=rgpu:h200:1
api DELETE "/v1/leases/$outsider" >/dev/null
ok "it runs when there are GPUs" await "its start" job_is "$job" RUNNING
is "$(api GET "/v1/leases?key_prefix=slurm/test/$job/" | at leases.0.request.gpus.0.count)" 4 "with all of them"
ok "and may be changed further" mine TimeLimit=6
scancel "$job"
ok "all end" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
