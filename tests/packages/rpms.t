#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The packages of RPM in a root that has rpm's database and what they require, by a stub that provides it (seconds: 600): they
# install, upgrade from 0.1 with settings kept, are verified, and are erased without a trace. The root is a bare Debian, with a preset
# of services as Enterprise Linux has it.
. "$(dirname "$0")/../pages/machines.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "what is packaged is the plain build"
[ "$(id -u)" = 0 ] || skip_all "machines of one's own need root"
requires rpm rpmbuild debootstrap unshare nsenter ip mount pgrep
[ -e "$BUILD/lib/slurm/gres_rgpu.so" ] || skip_all "the plugins are not built: Slurm's headers are missing"
packages=$TOP/build/packages-of-tests/rpms new=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
export PACKAGES=$packages
if [ -z "${IN_PRIVATE:-}" ]; then
    rm -rf "$packages"
    "$TOP/scripts/package" rpm --as-built "$new" >"$TMP/rpm.log" 2>&1 || bail "make rpm: $(tail -n 20 "$TMP/rpm.log")"
    build_machine rpms libevent-core-2.1-7 libevent-extra-2.1-7 libinih1 libjansson4 libjwt0 libsmartcols1 libseccomp2 libsqlite3-0 \
        libmunge2 libhwloc15 libssl3 liblz4-1 libzstd1
fi
private_machines "$@"

# What release 0.1 did when it was installed and replaced, with the files of this one.
commit=$(sed -n 's/^0\.1 //p' "$TOP/tests/neighbours/releases")
if git -C "$TOP" show "$commit:packaging/rgpu.spec" >"$TMP/old.spec" 2>/dev/null; then
    mkdir "$TMP/old"
    tar c -C "$TOP" --exclude=./build --exclude=./.git --exclude=__pycache__ . | tar x -C "$TMP/old"
    mkdir "$TMP/old/build"
    cp -a "$BUILD"/{bin,lib,gen,obj,docs} "$TMP/old/build/"
    cp "$TMP/old.spec" "$TMP/old/packaging/rgpu.spec"
    PACKAGES=$TMP/rpms-of-0.1 "$TMP/old/scripts/package" rpm --as-built 0.1.0 >"$TMP/old.log" 2>&1 || bail "0.1: $(tail -n 20 "$TMP/old.log")"
    rm -rf "$TMP/old"
else
    skip_all "release 0.1 is not in this repository"
fi

# ---- a stub of the distribution ----
requirements() { for rpm in "$packages"/rgpu-*.rpm "$TMP"/rpms-of-0.1/rgpu-*.rpm; do rpm -qp --requires "$rpm" 2>/dev/null; done | grep -vE '^(rgpu|config|rpmlib|/)' | sort -u; }
{
    printf '%s\n' 'Name: stub' 'Version: 1' 'Release: 1' 'Summary: what packages require' 'License: none' 'BuildArch: noarch'
    requirements | sed 's/^/Provides: /'
    printf '%s\n' 'Provides: /bin/sh' '%description' 'Stub.' '%files'
} >"$TMP/stub.spec"
rpmbuild -bb --define "_topdir $TMP/top" "$TMP/stub.spec" >"$TMP/stub.log" 2>&1 || bail "the stub: $(tail -n 5 "$TMP/stub.log")"

# ---- what is in them ----
if command -v rpmlint >/dev/null; then
    is "$(rpmlint -c "$TOP/packaging/rpmlint.toml" "$TOP/packaging/rgpu.spec" "$packages"/rgpu-*.rpm 2>&1 | grep -E ': [EW]: ')" "" "rpmlint has nothing to say"
else
    skip "rpmlint is not installed"
fi

# ---- install ----
boot_machine rpms
root=${machine_root[rpms]}
mkdir -p "$root/usr/lib/systemd/system-preset" "$root/rpms"
echo 'disable *' >"$root/usr/lib/systemd/system-preset/00-default-disable.preset"
cp "$TMP/top/RPMS/noarch"/stub-*.rpm "$TMP"/rpms-of-0.1/*.rpm "$packages"/*.rpm "$root/rpms"
# Scripts of packages see the root's processes as those of a running system do.
mount -t proc proc "$root/proc"
in_root() { rpm --root "$root" --dbpath /var/lib/rpm "$@"; }
m() { on rpms "$@"; }
listing() { (cd "$root" && find etc usr var/lib -path var/lib/rpm -prune -o -path var/lib/systemd -prune -o -print | sort); }
in_root --initdb
listing >"$TMP/before"
unlike "$(for rpm in "$packages"/rgpu-*.rpm; do rpm -qp --requires "$rpm"; done 2>/dev/null)" 'libcuda' "no package wants a driver"
ok "a stub of the distribution" in_root -i "$root"/rpms/stub-*.rpm
ok "0.1 installs with what it requires" in_root -i "$root"/rpms/rgpu-*-0.1.0-*.rpm
echo '# ours' >>"$root/etc/rgpu/rgpud.conf"
out=$(in_root -U "$root/rpms"/rgpu-*-"$new"-*.rpm 2>&1) && status=0 || status=$?
is "$status" 0 "it upgrades to $new"
is "$(grep -v 'rpmnew\|^rpm: ' <<<"$out")" "" "and its scripts have nothing to say"
is "$(in_root -qa | sort | sed 's/\.x86_64//; s/\.noarch//' | xargs)" \
    "$(for part in box broker client slurm tools; do echo "rgpu-$part-$new-1"; done | xargs) stub-1-1" "nothing of 0.1 is left"
like "$(tail -n 1 "$root/etc/rgpu/rgpud.conf")" '^# ours$' "the administrator's settings are kept"
is "$(in_root -Va --nomtime 2>&1 | grep -v ' c /etc/rgpu/rgpud.conf$' | grep -v '^S.5....T. *c /etc/rgpu/rgpud.conf')" "" "all other files are verified"
like "$(m getent passwd rgpu rgpu-workers rgpu-broker | cut -d: -f1 | xargs)" '^rgpu rgpu-workers rgpu-broker$' "the services have their users"
is "$(find "$root/etc/systemd/system" -name 'rgpu*')" "" "no service starts that nobody has set up"
is "$(m rgpuctl --version)" "rgpuctl $new" "programs run"
for rpm in "$packages"/rgpu-*.rpm; do rpm -qlp "$rpm"; done 2>/dev/null | grep -E '\.so(\.|$)' | grep -v '^/usr/lib/rgpu/' >"$TMP/libraries" || true
is "$(cat "$TMP/libraries")" "" "libraries lie in a folder of their own, which is the same on all distributions"

# ---- erase ----
chroot "$root" /bin/systemctl --no-reload enable rgpud rgpu-brokerd >/dev/null 2>&1
ok "they are erased" in_root -e rgpu-client rgpu-tools rgpu-box rgpu-broker rgpu-slurm
is "$(find "$root/etc/systemd/system" -name 'rgpu*')" "" "no link to a service is left"
listing >"$TMP/after"
is "$(comm -13 "$TMP/before" "$TMP/after" | grep -i rgpu | xargs)" "etc/rgpu etc/rgpu/rgpud.conf.rpmsave" \
    "nothing is left but the settings that the administrator has changed"
done_testing
