#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The packages of Debian in a Debian that has what they ask for and no more (seconds: 1200): lintian has
# nothing to say, they hold all that is installed, start, upgrade under a running session, and are purged
# without a trace. RPM's hold the same. With RELEASE=trixie all this is done with the packages of Debian 13, built there.
. "$(dirname "$0")/../pages/machines.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "what is packaged is the plain build"
[ "$(id -u)" = 0 ] || skip_all "machines of one's own need root"
requires dpkg-buildpackage dh lintian rpmbuild debootstrap unshare nsenter ip mount pgrep
[ -e "$BUILD/lib/slurm/gres_rgpu.so" ] || skip_all "the plugins are not built: Slurm's headers are missing"
old=$(sed -n 's/^VERSION := //p' "$TOP/Makefile") new=${old%.*}.$((${old##*.} + 1))
packages=$TOP/build/packages-of-tests/whole-$RELEASE
export PACKAGES=$packages
[ "$RELEASE" = "$own_release" ] && elsewhere= || elsewhere=yes
# package VERSION [--as-built]
package() {
    if [ -n "$elsewhere" ]; then
        "$TOP/scripts/in-debian" "$RELEASE" sh -c "scripts/slurm-headers --fetch >/dev/null && make -j$(nproc) all slurm-plugins &&
            PACKAGES=/rgpu/build/packages-of-tests scripts/package deb --as-built $1" &&
            cp "${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rgpu/debian-$RELEASE/rgpu/build/packages-of-tests"/rgpu*_"$1"_* "$packages"
    else
        "$TOP/scripts/package" deb ${2:+"$2"} "$1"
    fi
}
# lint FILE: of this machine's lintian or of the other release's.
lint() {
    if [ -n "$elsewhere" ]; then
        "$TOP/scripts/in-debian" "$RELEASE" lintian --allow-root --fail-on error,warning "build/packages-of-tests/$1"
    else
        lintian --allow-root --fail-on error,warning "$packages/$1"
    fi
}
# Where packages are, at first: what is released is compiled anew, else it is what has been built.
if [ -z "${IN_PRIVATE:-}" ]; then
    rm -rf "$packages"
    mkdir -p "$packages"
    as_built=--as-built
    [ -z "${PACKAGES_AS_RELEASED:-}" ] || as_built=
    package "$old" $as_built >"$TMP/deb.log" 2>&1 || bail "make deb: $(tail -n 20 "$TMP/deb.log")"
    package "$new" --as-built >"$TMP/deb.log" 2>&1 || bail "make deb: $(tail -n 20 "$TMP/deb.log")"
    depends=$(for deb in "$packages"/rgpu-*_"${old}"_amd64.deb; do dpkg-deb -f "$deb" Depends; done |
        tr , '\n' | sed 's/|.*//; s/(.*//; s/ //g' | grep -v '^rgpu' | sort -u)
    # Environment Modules and Lmod exclude each other; Docker knows CDI from Debian 13 on.
    systems=environment-modules
    [ -z "$elsewhere" ] || systems="lmod docker.io docker-cli"
    # shellcheck disable=SC2086
    build_machine packages $depends $systems
fi
private_machines "$@"
debs() { ls "$packages"/rgpu-{client,tools,box,broker,slurm}_"$1"_amd64.deb; }

# ---- what is in them ----
like "$(for deb in $(debs "$old"); do dpkg-deb -f "$deb" Maintainer; done | sort -u)" '^The authors of rgpu <[^ ]+>$' \
    "they name one maintainer"
is "$(lint "rgpu_${old}_amd64.changes" 2>&1)" "" "lintian has nothing to say"
units=$(dpkg-deb -c "$packages/rgpu-box_${old}_amd64.deb" | sed -n 's|.* \.\(/.*\)/rgpud\.service$|\1|p')
places="PREFIX=/usr UNITDIR=$units ZSHDIR=/usr/share/zsh/vendor-completions MODULEDIR=/usr/share/modules/modulefiles SLURM=yes"
for part in client tools box broker slurm; do
    # shellcheck disable=SC2086
    make -s -C "$TOP" --no-print-directory $places ONLY=$part install-list
done | sort >"$TMP/parts"
# shellcheck disable=SC2086
is "$(make -s -C "$TOP" --no-print-directory $places install-list | sort)" "$(cat "$TMP/parts")" "each installed file is of one part"
for deb in $(debs "$old"); do dpkg-deb -c "$deb"; done | awk '$1 !~ /^d/ { sub(/^\./, "", $6); print $6 }' |
    sed 's/\.gz$//; s|/usr/share/doc/rgpu-[a-z]*/|/usr/share/doc/rgpu/|' | grep -vE 'doc/rgpu/(copyright|changelog|CHANGELOG.md)|lintian' | sort >"$TMP/in-debs"
is "$(comm -13 <(sed 's/\.gz$//' "$TMP/in-debs") "$TMP/parts")" "" "nothing that is installed is in no package"
is "$(sort "$TMP/in-debs" | uniq -d)" "" "nothing is in two"
if [ -z "$elsewhere" ]; then
    ok "make rpm" "$TOP/scripts/package" rpm --as-built "$old"
    for rpm in "$packages"/rgpu-*-"$old"-*.rpm; do rpm -qlp "$rpm"; done 2>/dev/null | sed 's/\.gz$//' | sort >"$TMP/in-rpms"
    # shellcheck disable=SC2086
    is "$(make -s -C "$TOP" --no-print-directory PREFIX=/usr UNITDIR=/usr/lib/systemd/system SLURM=yes install-list | sort | comm -13 "$TMP/in-rpms" -)" "" \
        "RPM's have the same files"
fi

# ---- install ----
boot_machine packages
tell_hosts
root=${machine_root[packages]}
# What the session is told; a service that a package starts must not hold the other end.
mkfifo "$TMP/orders"
exec {orders}<>"$TMP/orders"
m() { on packages "$@" {orders}>&-; }
rm "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/debs" "$root/run/systemd/system"
# shellcheck disable=SC2046
cp $(debs "$old") $(debs "$new") "$root/debs"
(cd "$root" && find etc usr var/lib -path var/lib/dpkg -prune -o -print | sort) >"$TMP/before"
install_debs() { m bash -c "dpkg --force-confold -i /debs/*_$1_amd64.deb"; }
ok "they install with what they ask for" install_debs "$old"
like "$(m dpkg -s rgpu-box)" '^Status: install ok installed' "and are configured"
like "$(m getent passwd rgpu rgpu-broker | tr '\n' ' ')" 'rgpu:.*rgpu-broker:' "the services have their users"
is "$(m bash -c 'cat /run/rgpu*.pid 2>/dev/null')" "" "nothing starts that is not set up"
is "$(m rgpuctl --version)" "rgpuctl $(m rgpud --version | awk '{ print $2 }')" "programs run"

modules=$(m bash -c 'ls /etc/profile.d/{modules,lmod}.sh' 2>/dev/null || true)
like "$(m bash -c ". $modules; module load rgpu; echo \$LD_LIBRARY_PATH" 2>&1)" '^/usr/lib/rgpu' "$modules finds the environment module"
like "$(m bash -c ". $modules; module help rgpu" 2>&1)" 'libcupti.so.12 and' "and prints its help"

# ---- start ----
m rgpu-brokerd --make-key /etc/rgpu/cluster.key
m chown rgpu-broker: /etc/rgpu/cluster.key
printf '[box]\nlisten = 127.0.0.1:7300\ndevices = sim:1\n[auth]\nauth = none\n' >"$root/etc/rgpu/rgpud.conf"
ok "the broker starts as its unit says" m systemctl enable --now rgpu-brokerd
ok "and the box" m systemctl enable --now rgpud
mkdir "$root/programs"
cp "$BUILD/tests/programs/saxpy" "$BUILD/tests/broker-hold-memory" "$root/programs"
ok "a program runs on the box" m rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy

# ---- upgrade ----
session() { on packages env RGPU_BOXES=127.0.0.1:7300 LD_LIBRARY_PATH=/usr/lib/rgpu /programs/broker-hold-memory <"$TMP/orders"; }
session >"$TMP/session.out" 2>"$TMP/session.log" {orders}>&- &
session_pid=$!
said() { grep -q "$1" "$TMP/session.out"; }
await "a session" said ready
box_pid=$(m cat /run/rgpud.pid) broker_pid=$(m cat /run/rgpu-brokerd.pid)
ok "they upgrade" install_debs "$new"
like "$(m dpkg -s rgpu-broker)" "^Version: $new" "to the next version"
is "$(m cat /run/rgpud.pid)" "$box_pid" "the box goes on"
echo "take 1048576" >&"$orders"
ok "and so does its session" await "an answer" said CUDA_SUCCESS
unlike "$(m cat /run/rgpu-brokerd.pid)" "^$broker_pid$" "the broker was started anew"
ok "and runs" m systemctl is-active rgpu-brokerd
like "$(cat "$root/etc/rgpu/rgpud.conf")" 'devices = sim:1' "the administrator's settings are kept"
ok "a new session comes to the box as well" m rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy
exec {orders}>&-
wait "$session_pid" || true
ok "the box is started anew by its administrator" m systemctl restart rgpud
ok "and serves" m rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy

# ---- purge ----
ok "they are purged" m dpkg --purge rgpu-client rgpu-tools rgpu-box rgpu-broker rgpu-slurm
fails "the services have ended" m systemctl is-active rgpud
(cd "$root" && find etc usr var/lib -path var/lib/dpkg -prune -o -print | sort) >"$TMP/after"
is "$(comm -13 "$TMP/before" "$TMP/after" | grep -i rgpu | grep -v rgpu.*-wants | xargs)" "etc/rgpu etc/rgpu/cluster.key" \
    "nothing is left but the key that the administrator made"

# ---- Docker, by the Container Device Interface, which that of Debian 12 does not have ----
[ -n "$elsewhere" ] || { done_testing; exit; }
export MACHINE_docker=$MACHINE_packages
boot_machine docker systemd
tell_hosts
root=${machine_root[docker]}
d() { on docker "$@" {orders}>&-; }
[ "${machine_inner[docker]}" = / ] || { skip "no cgroups, so no Docker"; done_testing; exit; }
mkdir -p "$root/debs" "$root/etc/docker" "$root/image/bin"
# shellcheck disable=SC2046
cp $(debs "$new") "$root/debs"
d bash -c 'dpkg -i /debs/*.deb' >/dev/null 2>&1
printf '{"features": {"cdi": true}, "iptables": false, "bridge": "none", "storage-driver": "vfs"}\n' >"$root/etc/docker/daemon.json"
cp "$BUILD/tests/programs/saxpy" "$root/image/bin"
ok "an image has nothing but a program and the C library" d bash -ec 'systemctl restart docker
    ln -s usr/lib usr/lib64 /image
    tar -ch $(dpkg -L libc6 | grep "/lib.*\.so") -C /image bin >/tmp/image.tar; tar -C /image -rf /tmp/image.tar lib lib64
    docker import /tmp/image.tar image'
printf '[box]\nname = gpu01\nlisten = 127.0.0.1:7300, unix:/run/rgpu-clients/box\ndevices = sim:1\n[auth]\nauth = none\n' >"$root/etc/rgpu/rgpud.conf"
d systemctl restart rgpud
ok "the box is described" d bash -ec 'mkdir -p /etc/cdi; rgpuctl cdi generate >/etc/cdi/rgpu.json'
container() { d docker run --rm --network none --env RGPU_LOG=info "$@" image /bin/saxpy; }
like "$(container 2>&1 || true)" 'libcuda.so.1: cannot open' "the program finds no driver without the device"
ok "Docker runs it with --device rgpu/box=all, as another user" container --user 1234:1234 --device rgpu/box=all
like "$(cat "$TMP/ok.out")" 'transport=shm' "over shared memory"

# A lease: a box of a pool, which takes tickets.
d rgpu-brokerd --make-key /etc/rgpu/cluster.key >/dev/null
d chown rgpu-broker: /etc/rgpu/cluster.key
d systemctl restart rgpu-brokerd
echo unix:/run/rgpu-broker/broker.sock >"$root/etc/rgpu/broker"
d bash -c 'rgpuctl box-key gpu01 | install -m 600 -o rgpu /dev/stdin /etc/rgpu/box.key'
printf '[box]\nname = gpu01\nlisten = unix:/run/rgpu-clients/box\ndevices = sim:1\n[broker]\nbroker = 127.0.0.1:7310\n' >"$root/etc/rgpu/rgpud.conf"
d systemctl restart rgpud
in_pool() { d rgpuctl boxes | grep -q 'gpu01.* up'; }
ok "the box is in a pool" await "the box" in_pool
fails "and takes no program without a ticket" container --device rgpu/box=all
ok "Docker runs it with the device of a lease" d rgpuctl run -n 1 -- bash -ec 'rgpuctl cdi generate >/etc/cdi/lease.json
    docker run --rm --network none --user "$(id -u)" --device "$(rgpuctl cdi name)" image /bin/saxpy'
done_testing
