#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/admin/start.md from its first line to its last, on booted bare Debians with the packages and no source tree. seconds: 900
. "$(dirname "$0")/machines.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "what is packaged is the plain build"
[ "$(id -u)" = 0 ] || skip_all "machines of one's own need root"
requires dpkg-buildpackage dh debootstrap unshare nsenter ip mount pgrep
[ -e "$BUILD/lib/slurm/gres_rgpu.so" ] || skip_all "the plugins are not built: Slurm's headers are missing"
page=$TOP/docs/admin/start.md version=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
export PACKAGES=$TOP/build/packages-of-tests/start
# needed FIELD...: what the packages that the page installs name there, and what of that is theirs.
needed() {
    local deb field
    for deb in "$PACKAGES"/rgpu-{tools,broker,box,client}_"${version}"_amd64.deb; do
        for field; do dpkg-deb -f "$deb" "$field"; done
    done | tr , '\n' | sed 's/|.*//; s/(.*//; s/ //g' | grep -v '^rgpu' | sort -u
}
if [ -z "${IN_PRIVATE:-}" ]; then
    rm -rf "$PACKAGES"
    "$TOP/scripts/package" deb --as-built "$version" >"$TMP/deb.log" 2>&1 || bail "make deb: $(tail -n 20 "$TMP/deb.log")"
    # shellcheck disable=SC2046
    for machine in host node; do build_machine $machine munge $(needed Depends Recommends); done
fi
private_machines "$@"
READY_SECONDS=90
MACHINE_ALIAS=([host]=gpu01 [node]=node1)
for machine in host node; do
    boot_machine $machine systemd
    mkdir "${machine_root[$machine]}/root/rgpu"
    cp "$PACKAGES"/*.deb "${machine_root[$machine]}/root/rgpu"
done
tell_hosts
steps() {
    local line
    while IFS= read -r line <&3; do
        ok "start.md, on $1: $line" run_step "$1" "cd; $line"
    done 3< <(python3 -B "$TOP/tests/pages/steps.py" "$page" "$@")
}
steps host
steps node
steps host munge
steps host broker
steps host box
steps host software
steps host start
# As root on the set-up of the page: in order, and not so where the service could not read its key.
check() { on host "/usr/sbin/$1" --config "/etc/rgpu/$1.conf" --check-config; }
for daemon in rgpud rgpu-brokerd; do ok "root is told that the settings of $daemon are in order" check $daemon; done
for pair in rgpud:box.key:rgpu rgpu-brokerd:cluster.key:rgpu-broker; do
    IFS=: read -r daemon key user <<<"$pair"
    on host chown root: "/etc/rgpu/$key"
    fails "$daemon could not read a key of root" check "$daemon"
    on host chown "$user:" "/etc/rgpu/$key"
done
# The page on the pool has keys in place of munge; they serve beside it.
on host useradd -m alice
on host useradd -m bob
for part in keys alice bob; do
    while IFS= read -r line <&3; do
        ok "pool.md, on the broker: $line" run_step host "cd; $line"
    done 3< <(python3 -B "$TOP/tests/pages/steps.py" "$TOP/docs/admin/pool.md" broker $part)
done
in_pool() { on host rgpuctl boxes | grep -q 'gpu01.* up'; }
ok "the box is in the pool" await "the box" in_pool
as_alice() { on host su alice -c "RGPU_BROKER_KEY=~/rgpu.key rgpuctl $*"; }
ok "an administrator with a key changes the pool" as_alice drain gpu01
ok "and changes it back" as_alice undrain gpu01
as_bob() { on host su bob -c "RGPU_BROKER_KEY=~/rgpu.key rgpuctl $*"; }
fails "a user with a key does not" as_bob drain gpu01
like "$(as_bob boxes)" '^gpu01 ' "but sees it"
if [ "${machine_inner[host]}" = / ]; then
    in_cgroup() { on host bash -c 'grep -qs . /sys/fs/cgroup/system.slice/rgpu-workers.service/workers/p*/cgroup.procs'; }
    ok "each worker is in a cgroup of its own" await "a worker" in_cgroup
    for unit in rgpu-brokerd rgpud rgpu-workers; do is "$(on host systemctl is-active $unit)" active "systemd runs $unit"; done
else
    skip "no cgroups for systemd: the units were run by a script"
fi
steps host node
install -m 755 "$BUILD/tests/programs/saxpy" "${machine_root[node]}/root/your-program"
steps node try
like "$(on host rgpuctl usage --json)" '"leases":[1-9]' "the leases are counted"
if [ "${machine_inner[host]}" = / ]; then
    ok "the weekly report has its timer" on host systemctl enable --now rgpu-usage-report.timer
    ok "and is made" on host systemctl start rgpu-usage-report.service
    like "$(on host bash -c 'cat /var/lib/rgpu-usage/*.txt')" '^root +[1-9]' "with the users of the week"
else
    skip "no cgroups for systemd, so no timer"
fi
# docs/admin/watching.md: the key of a monitor, on a machine that has nothing else installed, beside the keys of the pool's page.
while IFS= read -r line <&3; do
    ok "watching.md, on the broker: $line" run_step host "cd; $line"
done 3< <(python3 -B "$TOP/tests/pages/steps.py" "$TOP/docs/admin/watching.md" host metrics)
scrape() {
    nsenter -t "${machine_pid[host]}" --net python3 -c 'import sys, urllib.request as u
print(u.urlopen(u.Request("http://10.77.0.1:7310/metrics", headers={"Authorization": "Bearer " + sys.argv[1]})).read().decode())' \
        "$(on host sed -n 's/^metrics //p' /etc/rgpu/api.keys)" >"$TMP/scraped"
}
ok "a monitor with that key reads the figures" await "the reload" scrape
like "$(cat "$TMP/scraped")" '^rgpu_boxes' "of the pool"
ok "and the key of the administrator still serves" as_alice boxes
fails "a test of GPUs where rgpu-client is missing" on host rgpuctl test gpu01
like "$(cat "$TMP/ok.out")" '^rgpuctl test: .*install rgpu-client' "says what to install"
# ---- what pages and settings name is there ----
# Pages are those of all packages, which the host has.
for machine in host node; do
    pages=
    [ $machine = node ] || pages='/usr/share/doc/rgpu-*/'
    missing=$(on $machine bash -c "grep -rhoE '/usr/share/(doc/)?rgpu[a-z0-9/._-]*[a-z]' /etc/rgpu $pages /usr/lib/systemd/system/rgpu* 2>/dev/null |
        sort -u | while read -r file; do [ -e \"\$file\" ] || echo \"\$file\"; done")
    is "$missing" "" "on $machine there is each file of ours that a page or a setting names"
done
# ---- the sessions of users' pages, by packages ----
on host bash -ec 'systemctl stop rgpud; dpkg -i /root/rgpu/rgpu-client_*.deb >/dev/null'
echo 127.0.0.1 gpu02 >>"${machine_root[host]}/etc/hosts"
cd "$TOP"
for session in README.md docs/guide/*.md; do
    grep -q '^<!-- on gpu01 -->' "$session" || continue
    dir=/root/$(basename "$session" .md)
    install -D -t "${machine_root[host]}$dir" "$BUILD"/examples/{vector,exchange}
    while read -r line; do
        case $line in
        'ok - '*) pass "${line#ok - }" ;;
        'not ok - '*) fail "${line#not ok - }" ;;
        *) echo "$line" >&2 ;;
        esac
    done < <(python3 -B "$TOP/tests/pages/consoles.py" "$session" gpu01 \
        nsenter -t "${machine_pid[host]}" --mount --uts --net --pid env -i HOME=/root LIBDIR=/usr/lib/rgpu LC_ALL=C.UTF-8 COLUMNS=120 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "${machine_inner[host]}" env --chdir="$dir" 2>&1)
done
# docs/admin/watching.md's own configuration, with the rules where the package has them.
sed -n '/^ *rule_files:/,/^$/s/^    //p' "$TOP/docs/admin/watching.md" >"$TMP/prometheus.yml"
if command -v promtool >/dev/null; then
    sed -i "s|/usr/share/rgpu/|${machine_root[host]}&|" "$TMP/prometheus.yml"
    like "$(promtool check config "$TMP/prometheus.yml" 2>&1)" 'SUCCESS: [1-9][0-9]* rules found' "Prometheus loads the package's alerts as the page says"
else
    skip "promtool is not there"
fi
done_testing
