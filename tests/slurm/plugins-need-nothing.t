#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's daemons end where a plugin cannot be loaded: what they load needs no library that a node of
# Slurm has not anyway. Where the part that needs more cannot be loaded, jobs that ask for remote GPUs seconds: 600
# are refused or fail with the reason, and all others run. And who installs learns when there are none.
. "$(dirname "$0")/cluster.sh"
require_plugins
for plugin in gres_rgpu job_submit_rgpu prep_rgpu spank_rgpu; do
    needed=$(readelf -d "$BUILD/lib/slurm/$plugin.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
    is "$(grep -vE '^lib(c|dl|pthread)\.so' <<<"$needed")" "" "$plugin.so needs no library but libc"
done

eval "$(declare -f share_programs | sed '1s/share_programs/share_everything/')"
share_programs() { share_everything; rm "$PLUGINS"/rgpu_{submit,prep,step}.so; }
start_pool_cluster
ok "daemons start without the parts that need more" nodes_idle
ok "a job runs" as $ALICE srun true
ok "a whole node too" as $ALICE srun --exclusive true
like "$(as $ALICE sbatch --gres=rgpu:1 --wrap true 2>&1 || true)" 'there are no remote GPUs now' "one that asks for remote GPUs is refused with the reason"
cp "$BUILD/lib/slurm/rgpu_submit.so" "$BUILD/lib/slurm/rgpu_prep.so" "$PLUGINS"
stop "$SLURMCTLD_PID"
start_slurmctld
await "idle nodes" nodes_idle
out=$(as $ALICE srun --gres=rgpu:1 true 2>&1 || true)
like "$out" 'cannot be used: .*rgpu_step.so' "where only the node lacks something, the job says what"
ok "no node is drained" await "idle nodes" nodes_idle
ok "its GPU is back" await "no leases" no_leases

# ---- installing ----
install_into() { make -C "$TOP" --no-print-directory B="${BUILD#"$TOP"/}" DESTDIR="$TMP/$1" "${@:2}" install 2>&1; }
out=$(install_into with)
ok "make install installs the plugins" test -e "$TMP/with/usr/local/lib/rgpu/slurm/rgpu_prep.so"
ok "and this page" test -e "$TMP/with/usr/local/share/doc/rgpu/admin/slurm.md"
unlike "$out" 'NOT INSTALLED' "and has nothing to complain of"
out=$(install_into without SLURM_HEADERS=)
like "$out" 'NOT INSTALLED: the plugins for Slurm' "where they cannot be built it says so"
like "$out" 'apt-get install libslurm-dev dpkg-dev' "and what to do"
fails "and fails where they were asked for" install_into asked SLURM_HEADERS= SLURM=yes
ok "without installing anything else" test ! -e "$TMP/asked"
mkdir "$TMP/bin"
ln -s /usr/bin/* /usr/sbin/* /bin/* "$TMP/bin" 2>/dev/null || true
rm -f "$TMP/bin/dpkg-source"
out=$(PATH=$TMP/bin SLURM_PREFIX=/usr SLURM_SOURCE="" "$TOP/scripts/slurm-headers" --fetch 2>&1 && echo "status 0") || true
like "$out" 'apt-get install dpkg-dev' "without dpkg-dev the headers' script says so"
unlike "$out" 'status 0' "and fails"
done_testing
