#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job's GPUs are where its nodes are, by the switches that Slurm knows, as far as any are free there; and they
# can compute what the job says that it needs. seconds: 600
. "$(dirname "$0")/cluster.sh"
BOX_OPTIONS=([box1]="--locality hall1.rack1" [box2]="--locality hall1.rack2")
BOX_CAPABILITY=([box1]=8.0 [box2]=9.0)
mkdir -p "$SLURM_DIR"
printf '%s\n' 'SwitchName=rack1 Nodes=n1' 'SwitchName=rack2 Nodes=n[2-3]' 'SwitchName=hall1 Switches=rack[1-2]' \
    >"$SLURM_DIR/topology.conf"
chmod 644 "$SLURM_DIR/topology.conf"
start_pool_cluster TopologyPlugin=topology/tree
start_sync
mkfifo -m 666 "$TMP/work/gate"
exec 9<>"$TMP/work/gate"
# begin OPTION...: a job that runs until it is cancelled. Sets job.
begin() {
    job=$(as $ALICE sbatch --parsable -o /dev/null "$@" --wrap 'exec cat <gate')
    await "job $job" job_is "$job" RUNNING
}
boxes_of() { api GET "/v1/leases?key_prefix=slurm/test/$1/" | python3 -c '
import json, sys
print(*sorted(gpu["box"] for gpu in json.load(sys.stdin)["leases"][-1]["gpus"]))'; }
end_all() { scancel -u $ALICE; await "no leases" no_leases; }

await "the count" free_licenses_are rgpu 4
for at in n1:box1 n2:box2 n3:box2; do
    begin -w ${at%:*} --gres=rgpu:2
    is "$(boxes_of "$job")" "${at#*:} ${at#*:}" "a job on ${at%:*} has the GPUs of its rack"
    end_all
done
begin -w n3 --gres=rgpu:1
begin -w n1 --gres=rgpu:1
is "$(boxes_of "$job")" box1 "also while the other box is fuller"
begin -w n1 --gres=rgpu:1
is "$(boxes_of "$job")" box1 "the last one there"
begin -w n1 --gres=rgpu:1
is "$(boxes_of "$job")" box2 "one that finds none near has one elsewhere, rather than wait"
end_all
begin -w n1 --gres=rgpu:1 --rgpu-constraint=near=rack2
is "$(boxes_of "$job")" box2 "who says where near is, is believed"
end_all
begin -N2 -w n1,n2 --gres=rgpu:2
is "$(boxes_of "$job")" "box1 box1 box2 box2" "a job in two racks has those of both"
end_all

begin -w n1 --gres=rgpu:2 --rgpu-constraint=min-capability=8.6
is "$(boxes_of "$job")" "box2 box2" "a job that needs a capability has GPUs that have it"
waiting=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 --rgpu-constraint=min-capability=9.0 --wrap 'exec cat <gate')
ok "another waits for them" await "its reason" pending_for "$waiting" Licenses
is "$(leases)" 1 "though others are free"
is "$(job_field "$waiting" Restarts)" 0 "without a start in vain"
scancel "$job"
ok "and has one when it is free" await "its start" job_is "$waiting" RUNNING
is "$(boxes_of "$waiting")" box2 "of that box"
out=$(as $ALICE sbatch --gres=rgpu:1 --rgpu-constraint=min-capability=9.1 --wrap true 2>&1 || true)
like "$out" 'could ever serve the job' "one that no GPU of the pool is able to do is refused"
rgpu_settings 'impossible = hold'
stop "$SLURMCTLD_PID"
start_slurmctld
none=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 --rgpu-constraint=min-capability=9.1 --wrap true)
held() { [ "$(job_field "$none" Priority)" = 0 ] && job_is "$none" PENDING; }
ok "or held, where the administrator says so" await "the hold" held
like "$(squeue -h -j "$none" -o %R)" 'no set of GPUs' "and says why"
out=$(as $ALICE sbatch --gres=rgpu:1 --rgpu-constraint=min-capability=high --wrap true 2>&1 || true)
like "$out" '"min-capability=high" in --rgpu-constraint is not understood' "what is no capability is refused"
scancel -u $ALICE
ok "all end" await "no leases" no_leases
ok "the invariants hold" invariants --idle
done_testing
