# SPDX-License-Identifier: BSD-3-Clause
# Root directories of bare Debians with the packages that they were given. Nothing here knows of rgpu.
#
#     build_machine NAME PACKAGE...    the root is $MACHINE_NAME, of the release $RELEASE
#
# Packages come from the machine's own mirror. What is kept lies in the user's cache, where the next run
# finds it; a release of Debian that has changed its packages meanwhile makes no difference.
MACHINES=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rgpu/machines
own_release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
RELEASE=${RELEASE:-$own_release}

# keep NAME COMMAND...: runs COMMAND DIRECTORY unless there is $MACHINES/NAME already.
keep() {
    local name=$1
    shift
    [ ! -d "$MACHINES/$name" ] || return 0
    rm -rf "$MACHINES/$name.new"
    "$@" "$MACHINES/$name.new" >"$TMP/machine.log" 2>&1 || {
        tail -n 5 "$TMP/machine.log" | sed 's/^/# /' >&2
        rm -rf "$MACHINES/$name.new"
        skip_all "a bare Debian cannot be had here"
    }
    mv "$MACHINES/$name.new" "$MACHINES/$name"
}
bootstrap() { debootstrap --variant=minbase --include=systemd "$RELEASE" "$1" "$("$TOP/scripts/debian-mirror")"; }
install_packages() {
    local root=${!#}
    cp -a "$MACHINES/base-$RELEASE" "$root"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no daemon starts by being installed
    chmod 755 "$root/usr/sbin/policy-rc.d"
    chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Sandbox::User=root \
        install -y --no-install-recommends "${@:1:$#-1}"
}

build_machine() {
    mkdir -p "$MACHINES"
    exec {machine_lock}>"$MACHINES/lock"
    flock "$machine_lock"
    keep "base-$RELEASE" bootstrap
    keep "$1-$(printf '%s\n' "$RELEASE" "${@:2}" | sha256sum | cut -c1-12)" install_packages "${@:2}"
    exec {machine_lock}>&-
    export "MACHINE_$1=$MACHINES/$1-$(printf '%s\n' "$RELEASE" "${@:2}" | sha256sum | cut -c1-12)"
}
