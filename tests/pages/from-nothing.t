#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pool and Slurm in front of it, set up from docs/admin/pool.md and docs/admin/slurm.md alone: each step that the
# pages give is run as it stands there, on the machine that it is for, which has the packages that the
# page names for it and no more. With BY_PACKAGES=yes they have rgpu's packages instead of what `make install`
# puts there, by the pages' own commands. seconds: 1500
. "$(dirname "$0")/machines.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "what is installed is the plain build"
[ "$(id -u)" = 0 ] || skip_all "machines of one's own need root"
requires debootstrap unshare nsenter ip mount pgrep
[ -e "$BUILD/lib/slurm/gres_rgpu.so" ] || skip_all "the plugins are not built: Slurm's headers are missing"
pool=$TOP/docs/admin/pool.md slurm=$TOP/docs/admin/slurm.md
steps() { python3 "$TOP/tests/pages/steps.py" "$@"; }
version=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
export BY_PACKAGES=${BY_PACKAGES:-} PACKAGES=$TOP/build/packages-of-tests/from-nothing
# How the pages install the packages on a machine.
command_of() {
    case $1 in
    broker) sed -n "s/^    \(apt-get install .*[^ ]\)  *# on the broker's host$/\1/p" "$pool" ;;
    box) sed -n 's/^    \(apt-get install .*[^ ]\)  *# on each box$/\1/p' "$pool" ;;
    *) sed -n 's/^ *\(apt-get install .*rgpu-slurm_.*\)$/\1/p' "$slurm" ;;
    esac
}
# What a page names for a machine beside rgpu, or what the packages need, which apt would fetch.
needed() {
    local name
    if [ -z "$BY_PACKAGES" ]; then
        case $1 in controller) echo munge ;; *) steps --packages "$pool" "$1" ;; esac
        steps "$slurm" "$1" | sed -n 's/^apt-get install //p'
        return
    fi
    for name in $(command_of "$1" | grep -o 'rgpu-[a-z]*'); do
        for field in Depends Recommends; do dpkg-deb -f "$PACKAGES/${name}_${version}_amd64.deb" $field; done
    done | tr , '\n' | sed 's/|.*//; s/(.*//; s/ //g' | grep -v '^rgpu' | sort -u
    echo munge
}
# What the premise of each page is there already: munge with one key, Slurm.
if [ -z "${IN_PRIVATE:-}" ]; then
    if [ -n "$BY_PACKAGES" ]; then
        rm -rf "$PACKAGES"
        "$TOP/scripts/package" deb --as-built "$version" >"$TMP/deb.log" 2>&1 || bail "make deb: $(tail -n 20 "$TMP/deb.log")"
    fi
    # shellcheck disable=SC2046
    for machine in broker box; do build_machine $machine $(needed $machine); done
    # shellcheck disable=SC2046
    build_machine controller slurmctld slurm-client $(needed controller)
    # shellcheck disable=SC2046
    build_machine node slurmd slurm-client $(needed node)
fi
private_machines "$@"
READY_SECONDS=90
MACHINE_ALIAS=([box]=gpu01 [node]=node1)
for machine in broker box; do boot_machine $machine systemd; done
for machine in controller node; do boot_machine $machine; done
tell_hosts
node=${machine_root[node]} controller=${machine_root[controller]}

# ---- the premises ----
head -c 128 /dev/urandom >"$TMP/munge.key"
for machine in broker box controller node; do
    root=${machine_root[$machine]}
    install -D -m 600 "$TMP/munge.key" "$root/etc/munge/munge.key"
    on $machine chown -R munge: /etc/munge /var/log/munge /var/lib/munge
    on $machine systemctl restart munge
done

# ---- make install, or packages ----
for machine in broker box controller node; do
    if [ -n "$BY_PACKAGES" ]; then
        install -D -t "${machine_root[$machine]}/root/rgpu" "$PACKAGES"/*.deb
        echo 'APT::Get::Assume-Yes "true";' >"${machine_root[$machine]}/etc/apt/apt.conf.d/yes" # what is answered by hand
        ok "on $machine: $(command_of $machine)" run_step $machine "cd /root/rgpu; $(command_of $machine)"
    else
        make -C "$TOP" --no-print-directory B="${BUILD#"$TOP"/}" DESTDIR="${machine_root[$machine]}" SLURM=yes install \
            >"$TMP/install.log" 2>&1 || bail "make install: $(tail -n 3 "$TMP/install.log")"
    fi
done
# There is no GPU here; a machine that has one needs no such line.
sed -i 's/^#devices = .*/devices = sim:2/' "${machine_root[box]}/etc/rgpu/rgpud.conf"

# page_steps PAGE MACHINE [WORD]: each line of the page's blocks for it; packages are there already.
page_steps() {
    local page=$1 machine=$2 line
    while IFS= read -r line <&3; do
        case $line in 'apt-get install'*) continue ;; esac
        ok "$(basename "$page"), on $machine: $line" run_step "$machine" "$line"
    done 3< <(steps "$page" "$machine" "${@:3}")
}

# ---- docs/admin/pool.md ----
page_steps "$pool" broker
page_steps "$pool" box
page_steps "$pool" broker key
page_steps "$pool" box start
in_pool() { on broker rgpuctl boxes | grep -q 'gpu01.* up'; }
ok "the box is in the pool" await "the box" in_pool
is "$(on broker stat -c '%U %a' /etc/rgpu/cluster.key)" "rgpu-broker 600" "the broker's key is its own"
is "$(on box stat -c '%U %a' /etc/rgpu/box.key)" "rgpu 600" "so is the box's"
page_steps "$pool" broker node
page_steps "$pool" node
install -m 755 "$BUILD/tests/programs/saxpy" "$node/root/your-program"
program=$(sed -n 's/^    \(rgpuctl run .*your-program\)$/\1/p' "$pool")
ok "pool.md, on node: $program" on node bash -ec "cd; $program"
page_steps "$pool" broker backup
page_steps "$pool" broker restore
ok "the box is in the pool of the restored database" await "the box" in_pool

# ---- docs/admin/slurm.md ----
page_steps "$slurm" broker controller
page_steps "$slurm" controller user
page_steps "$slurm" controller
on controller rgpuctl slurm-config >"$TMP/parts"
part() { awk -v name="$1" '/^# ---- / { here = index($3, name) == 1; next } here' "$TMP/parts"; }
gres=$(part slurm.conf | sed -n 's/^#  *NodeName=\.\.\. *//p')
{
    printf '%s\n' ClusterName=pages SlurmctldHost=controller SlurmUser=slurm AuthType=auth/munge \
        StateSaveLocation=/var/lib/slurm/ctld SlurmdSpoolDir=/var/lib/slurm/d ProctrackType=proctrack/linuxproc \
        TaskPlugin=task/none JobAcctGatherType=jobacct_gather/none AccountingStorageType=accounting_storage/none \
        MpiDefault=none SelectType=select/cons_tres SelectTypeParameters=CR_CPU SlurmdParameters=config_overrides \
        ReturnToService=2 PrologFlags=Contain SlurmctldLogFile=/var/log/slurm/slurmctld.log SlurmdLogFile=/var/log/slurm/slurmd.log "NodeName=node1 CPUs=4 RealMemory=500 $gres" \
        'PartitionName=p Nodes=ALL Default=YES State=UP'
    part slurm.conf | grep -v '^#'
} >"$TMP/slurm.conf"
for machine in controller node; do
    install -D -m 644 "$TMP/slurm.conf" "${machine_root[$machine]}/etc/slurm/slurm.conf"
    part plugstack.conf >"${machine_root[$machine]}/etc/slurm/plugstack.conf"
    part /etc/rgpu/slurm.conf >"${machine_root[$machine]}/etc/rgpu/slurm.conf"
done
# These machines have no control groups.
plugin=disabled
[[ $(on node slurmd -V) != *' 22.05.'* ]] || plugin=cgroup/v1
echo "CgroupPlugin=$plugin" >"$node/etc/slurm/cgroup.conf"
on controller install -d -o slurm /var/lib/slurm /var/lib/slurm/ctld
on node install -d /var/lib/slurm/d
on controller slurmctld
on node slurmd || diag "$(tail -n 5 "$node"/var/log/slurm/* 2>&1)"
idle() { [ "$(on controller sinfo -h -o %T)" = idle ]; }
ok "slurmctld and slurmd start with the plugins" await "an idle node" idle
idle || diag "$(tail -n 5 "$controller/var/log/slurm/"*.log "$node/var/log/slurm/"*.log 2>&1)"
page_steps "$slurm" controller later
counted() { on controller scontrol show licenses | grep -A1 '=rgpu$' | grep -q 'Total=2'; }
ok "Slurm counts the pool's GPUs" await "the count" counted
install -m 755 "$BUILD/tests/programs/saxpy" "$node/root/a-cuda-program"
program=$(sed -n 's/.*\*\*Try it:\*\* `\([^`]*\)`.*/\1/p' "$slurm")
ok "slurm.md, on node: $program" on node bash -ec "cd; $program"
# It may not be let into the daemons' memory here; what it sees must be well.
unlike "$(on node rgpuctl health 2>&1 || true)" 'has not loaded' "rgpuctl health misses no plugin on the node"
unlike "$(on controller rgpuctl health 2>&1 || true)" 'has not loaded' "nor on the host of slurmctld"
ok "a job without remote GPUs" on node srun --exclusive true
check=$(sed -n 's/.*\*\*Check it:\*\* `\([^`]*\)`.*/\1/p' "$slurm")
for machine in node controller; do ok "slurm.md, on $machine: $check" on $machine bash -c "$check"; done
done_testing
