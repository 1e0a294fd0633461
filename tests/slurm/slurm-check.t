#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rgpuctl slurm-check finds everything well in a cluster that is, runs a job, and names what is wrong in one that is not, with
# what to do. seconds: 600
# With processes of its own: the check looks at all Slurm daemons of the host.
if [ -z "${OWN_PROCESSES:-}" ] && unshare --pid --fork --mount-proc true 2>/dev/null; then
    exec env OWN_PROCESSES=yes unshare --pid --fork --kill-child --mount-proc "$0"
fi
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
start_sync
await "the count" free_licenses_are rgpu 4
mkdir -p "$TMP/share/bin"
cp "$BUILD/bin/rgpuctl" "$BUILD/bin/rgpu-slurm-sync" "$TMP/share/bin/"
ctl=$TMP/share/bin/rgpuctl PATH=$TMP/share/bin:$PATH

# check [COMMAND...] -- [OPTION...]: sets CHECK, the status, and FOUND, the lines.
check() {
    local before=()
    while [ "$1" != -- ]; do before+=("$1"); shift; done
    shift
    CHECK=0
    FOUND=$("${before[@]}" env RGPU_SLURM_CONF="$SLURM_DIR/rgpu.conf" "$ctl" slurm-check "$@" 2>&1) || CHECK=$?
}
# problem TOPIC REGEX OPTION...: that is found, and a remedy.
problem() {
    like "$(grep -E -A1 "^$1 +problem  .*($2)" <<<"$FOUND")" 'to do  .' "found: $1 $2"
    is "$CHECK" 1 "and the status"
}

check --
is "$CHECK" 0 "a cluster that is well"
unlike "$FOUND" ' problem ' "has no problem"
like "$FOUND" 'job +ok .*computed right' "and a job runs on a GPU"
like "$FOUND" "daemon +ok +slurmctld .* has loaded rgpu_submit.so" "the daemons have their plugins"
like "$FOUND" "cluster +ok .*slurm/test/" "leases have the cluster's name"
ok "the job's lease is over" await "its end" no_leases
check as $ALICE -- --json --partition p
is "$CHECK" 0 "an ordinary user's check is well, too"
is "$(python3 -c 'import json, sys; print(*sorted({json.loads(line)["state"] for line in sys.stdin}))' <<<"$FOUND")" ok \
    "each line is a JSON object"

# A job that gets no GPU.
await "the end of the user's job" no_leases
holder=$(api POST /v1/leases '{"request": {"gpus": [{"count": 4}]}}' | at lease.id)
await "the count" free_licenses_are rgpu 0
check -- --wait 2
problem job 'GPU|resources'
api DELETE "/v1/leases/$holder" >/dev/null
await "the count" free_licenses_are rgpu 4

# What slurmctld says of its settings, with one of them changed.
real=$(command -v scontrol)
mkdir "$TMP/wrong"
cat >"$TMP/wrong/scontrol" <<END2
#!/bin/sh
$real "\$@" | sed "\$EDIT"
END2
chmod 755 "$TMP/wrong/scontrol"
edited() { check env PATH="$TMP/wrong:$PATH" EDIT="$1" -- --no-job; }
edited ''
is "$CHECK" 0 "the settings as they are"
while read -r edit words; do
    edited "$edit"
    problem slurm.conf "$words"
done <<'END2'
s/^GresTypes.*/GresTypes=gpu/ GresTypes lacks rgpu
s/^JobSubmitPlugins.*/JobSubmitPlugins=(null)/ JobSubmitPlugins lacks rgpu
s/^PrEpPlugins.*/PrEpPlugins=prep\/script/ PrEpPlugins lacks rgpu
s/^Licenses.*/Licenses=rgpu_mem:0/ Licenses lacks rgpu,
s/,rgpu_mem:[0-9]*// Licenses lacks rgpu_mem
s/bf_licenses,// SchedulerParameters lacks bf_licenses
s/,allow_zero_lic// SchedulerParameters lacks allow_zero_lic
END2
edited 's/^PlugStackConfig.*/PlugStackConfig = (null)/'
is "$CHECK" 0 "a plugstack.conf beside slurm.conf, of which Slurm prints no path"
like "$FOUND" 'plugstack +ok +/[^ ]*/plugstack.conf names' "is found"
edited 's/Gres=rgpu[^ ]*/Gres=(null)/'
problem nodes 'no node has Gres=rgpu'
edited "s|^PluginDir.*|PluginDir = $TMP/wrong|"
problem plugins 'no directory of PluginDir'

# What is really so.
echo "# nothing" >"$SLURM_DIR/plugstack.conf"
check -- --no-job
problem plugstack 'does not name spank_rgpu.so'
echo "include plugstack.d/*.conf" >"$SLURM_DIR/plugstack.conf"
mkdir "$SLURM_DIR/plugstack.d"
echo "required $PLUGINS/spank_rgpu.so" >"$SLURM_DIR/plugstack.d/rgpu.conf"
check -- --no-job
is "$CHECK" 0 "spank_rgpu.so in a file that is included"

sed -i 's/bf_licenses,//' "$SLURM_DIR/slurm.conf"
scontrol reconfigure
check -- --no-job
problem slurm.conf bf_licenses

stop "$SYNC_PID"
check -- --no-job
problem sync 'does not run'
start_sync

cp "$SLURM_DIR/rgpu.conf" "$TMP/rgpu.conf"
sed -i 's/^\[jobs\]/[jobs]\nnonsense = 1/' "$SLURM_DIR/rgpu.conf"
check -- --no-job
problem settings nonsense
sed "s/^broker_user.*/broker_user = 12345/" "$TMP/rgpu.conf" >"$SLURM_DIR/rgpu.conf"
check -- --no-job
problem broker credential
cp "$TMP/rgpu.conf" "$SLURM_DIR/rgpu.conf"
stop "$BROKER_PID"
check -- --no-job
problem broker 'no broker answers'
stop "$SLURMCTLD_PID"
check -- --no-job
problem slurmctld contact
ok "bad options are refused" sh -c "'$ctl' slurm-check --wait never 2>/dev/null; [ \$? = 2 ]"
done_testing
