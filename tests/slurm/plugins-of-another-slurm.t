#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# After an update of Slurm its daemons load plugins that were built for the version before. They say so in
# one line, jobs without remote GPUs run, and nothing of the job is read, as its form is unknown. seconds: 120
. "$(dirname "$0")/cluster.sh"
require_plugins
headers=$("$TOP/scripts/slurm-headers")
[ -n "$headers" ] || skip_all "Slurm's headers are missing"
read -ra compiler <<<"${CC:-cc}"

# Slurm's headers, of a version that has never been.
mkdir -p "$TMP/include/slurm" "$TMP/generated"
printf '#define USE_ALIAS 1\n#define NDEBUG 1\n' >"$TMP/generated/config.h"
public=${SLURM_PREFIX:-/usr}/include/slurm/slurm_version.h
sed 's/^#define SLURM_VERSION_NUMBER \(.*\)/#define SLURM_VERSION_NUMBER ((\1) \& ~0xff | 200)/' "$public" >"$TMP/include/slurm/slurm_version.h"
build() {
    local plugin=$1 source sources=()
    for source in "${@:2}"; do sources+=("$TOP/slurm-plugin/$source.c"); done
    "${compiler[@]}" -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared -fvisibility=hidden -I"$TOP" -I"$BUILD/gen" -I"$TMP/include" \
        -I"$TMP/generated" -isystem "${SLURM_PREFIX:-/usr}/include" -isystem "$headers" -o "$PLUGINS/$plugin.so" "${sources[@]}"
}
eval "$(declare -f share_programs | sed '1s/share_programs/share_everything/')"
share_programs() {
    share_everything
    build gres_rgpu gres_rgpu && build job_submit_rgpu job_submit_late base/late && build prep_rgpu prep_late base/late ||
        bail "the plugins of another version were not built"
}
start_pool_cluster
ok "the daemons start" nodes_idle
for plugin in job_submit prep; do
    is "$(grep -c "$plugin/rgpu: it was built for Slurm [0-9.]*\.200 and this is .*: no job gets remote GPUs" "$SLURM_DIR/slurmctld.log")" \
        1 "slurmctld says once that $plugin/rgpu is of another version"
done
logs "$SLURM_DIR/slurmd-n1.log" 'prep/rgpu: it was built for Slurm [0-9.]*\.200' "slurmd says so too"
ok "a job runs" as $ALICE srun true
ok "a batch job on a whole node too" batch $ALICE -o out --exclusive --wrap "srun true"
is "$(as $ALICE srun --exclusive sh -c 'echo ${RGPU_COUNT-none}')" none "it has no remote GPUs"
ok "a job may change" as $ALICE scontrol update job="$(as $ALICE sbatch --parsable -H --wrap true)" name=changed
ok "nobody has a lease" no_leases
ok "no node is drained" await "idle nodes" nodes_idle
done_testing
