#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sacct says for how long the GPUs of a job that has ended were busy, as the broker has counted it; also where slurmdbd was away
# when the job ended, and once, however often rgpu-slurm-sync starts. seconds: 300
. "$(dirname "$0")/cluster.sh"
BOX_OPTIONS=([box1]="--memory-check 100ms" [box2]="--memory-check 100ms")
start_pool_cluster
start_sync
comment() { sacct -X -n -P -j "$1" -o AdminComment; }
noted() { [[ $(comment "$1") =~ \ busy=[0-9.]+s ]]; }
works() { api GET /v1/sessions | grep -Eq '"utilization": ?[1-9]'; }
has_counted() { api GET "/v1/leases/$lease" | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["lease"]["busy_gpu_seconds"] <= 0)'; }
# compute: a job that keeps its GPU busy until it is cancelled, and then has. Sets job and lease.
compute() {
    job=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 --wrap "exec $TMP/share/endure --busy")
    await "its start" job_is "$job" RUNNING
    lease=$(api GET "/v1/leases?key_prefix=slurm/test/$job/" | at leases.0.id)
    await "kernels" works
}
end() {
    scancel "$job"
    await "no leases" no_leases
    ok "the broker has counted" has_counted
}
counted() { api GET "/v1/leases/$lease" | python3 -c 'import json, sys; print("busy=%.1fs" % json.load(sys.stdin)["lease"]["busy_gpu_seconds"])'; }

compute
end
ok "sacct has it" await "the record" noted "$job"
is "$(comment "$job" | grep -o 'busy=[^ ]*')" "$(counted)" "as the broker counted it"
like "$(comment "$job")" '^rgpu: exclusive box[12]:[01] type=rgpu_software_GPU busy=' "behind the GPUs and their type"
held() { api GET "/v1/leases/$lease" | python3 -c 'import json, sys; lease = json.load(sys.stdin)["lease"]; print(lease["ended"] - lease["granted"])'; }
wanted=' efficiency=[0-9]+% '
[ "$(held)" = 0 ] && wanted=' busy=[0-9.]*s '
like "$(comment "$job")" "$wanted" "and the part of their time, if they had them for a second"
like "$(comment "$job")" ' energy=[1-9][0-9]*J$' "and the energy that its GPU used"
first=$job was=$(comment "$job")

compute
stop "${line_pid[slurmdbd]}" KILL
end
stop "$SYNC_PID"
start_sync
says_away() { grep -q 'slurmdbd does not answer' "$TMP"/sync.log; }
ok "while slurmdbd is away that is said" await "the line" says_away
as_slurm slurmdbd env MYSQL_UNIX_PORT="$SLURM_DIR/database/socket" slurmdbd -D
await "slurmdbd" sacctmgr -n show cluster
ok "when it is back sacct has it" await "the record" noted "$job"
is "$(comment "$job" | grep -o 'busy=[^ ]*')" "$(counted)" "as the broker counted it"
is "$(comment "$first")" "$was" "what was noted is not noted again"

job=$(as $ALICE sbatch --parsable -o /dev/null --wrap true)
await "its end" job_is "$job" COMPLETED
is "$(comment "$job")" "" "a job without remote GPUs has no such comment"
ok "the invariants hold" invariants --idle
done_testing
