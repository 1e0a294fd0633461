#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Leases have the ClusterName of Slurm. A cluster whose name another cluster of the same broker has gets no GPUs, says so, and
# leaves the leases of the other alone. seconds: 300
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
await "the count" free_licenses_are rgpu 4
unlike "$(cat "$SLURM_DIR/rgpu.conf")" '^cluster' "the settings name no cluster"
job=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 --wrap 'exec sleep 3600')
await "its start" job_is "$job" RUNNING
like "$(api GET "/v1/leases?key_prefix=slurm/test/$job/" | at leases.0.key)" "^slurm/test/$job/" "a lease has Slurm's name of the cluster"
out=$(as $ALICE srun --jobid="$job" --overlap --gres=rgpu:1 env SLURM_CLUSTER_NAME=other "$SHOW" 2>&1)
like "$out" 'count=1' "steps find it by what slurmstepd knows"
scancel "$job"
ok "it ends" await "no leases" no_leases

other='{"key_prefix": "slurm/test/", "scheduler": "elsewhere:6817"}'
out=$(api POST /v1/schedulers "$other" 2>&1 || true)
like "$out" 'slurm/test/.* belong to the scheduler at .*elsewhere:6817 needs a name of its own' "a second cluster of the name is refused, with the way out"
owner=$(sed -n 's/.*belong to the scheduler at \([^;]*\);.*/\1/p' <<<"$out")
ok "not one of another name" api POST /v1/schedulers '{"key_prefix": "slurm/other/", "scheduler": "elsewhere:6817"}'

# A broker that begins anew knows whose the name is: the other cluster may be the first to ask.
stop "$SYNC_PID"
stop "$SLURMCTLD_PID"
stop "$BROKER_PID"
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
is "$(error_code POST /v1/schedulers "$other")" name-taken "also by a broker that has been restarted"
ok "whose owner has it still" api POST /v1/schedulers "{\"key_prefix\": \"slurm/test/\", \"scheduler\": \"$owner\"}"

# The other one has the name.
await "box1" box_is box1 up
api POST /v1/leases '{"key": "slurm/other/4711/1", "request": {"gpus": [{}]}}' >/dev/null
sed -i 's/^\[slurm\]/&\ncluster = other/' "$SLURM_DIR/rgpu.conf"
start_slurmctld
as_slurm sync env RGPU_SLURM_CONF="$SLURM_DIR/rgpu.conf" "$BUILD/bin/rgpu-slurm-sync"
says_so() { grep -q 'belong to the scheduler at elsewhere:6817' "$1"; }
ok "rgpu-slurm-sync says whose the name is" await "its word" says_so "$TMP/sync.log"
ok "and so does slurmctld" await "its word" says_so "$SLURM_DIR/slurmctld.log"
requests() { api GET /metrics | sed -n 's/^rgpu_requests_total //p'; }
before=$(requests)
many_more() { [ "$(requests)" -gt $((before + 40)) ]; }
await "more rounds" many_more
ok "the lease of the other is left alone" leases_are 1
is "$(license_field rgpu Total)" 0 "and there is no GPU for this one"
done_testing
