# SPDX-License-Identifier: BSD-3-Clause
# Bare machines for tests of the pages: each a Debian with only the packages that it was given, a root
# directory, processes, a network address and a host name of its own. Nothing here knows of rgpu.
#
#     build_machine NAME PACKAGE...    before anything else: roots.sh
#     private_machines "$@"            goes on in namespaces of this test's own
#     boot_machine NAME [systemd]      NAME of those built; with systemd its own one starts and runs what it is asked for,
#                                      where the kernel lets it have cgroups, else and without the word `systemctl` is a script
#     on NAME COMMAND...               as root there
#     run_step NAME LINE               a step of a page, as root there
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$TOP/tests/pages/roots.sh"

# machine_root is where a machine's files are for this test, machine_inner where they are for its own processes.
declare -A machine_pid=() machine_root=() machine_inner=()
booted=0

# The rest of the test, in mounts and a network that nobody else has. What was started would go on
# outside: nothing may have been.
private_machines() {
    if [ -z "${IN_PRIVATE:-}" ]; then
        tap_finished=yes
        rm -rf "$TMP"
        IN_PRIVATE=yes exec unshare --mount --net --propagation private "$0" "$@"
    fi
    ip link set lo up
    ip link add machines type bridge
    ip link set machines up
    mkdir "$TMP/machines"
    mount -t tmpfs -o mode=755 machines "$TMP/machines"
}

# Nothing of this host is mounted into a machine, so nothing of it can be changed or removed there.
make_devices() {
    local name mode major minor
    mount -t tmpfs -o mode=755 devices "$1"
    while read -r name mode major minor; do mknod -m "$mode" "$1/$name" c "$major" "$minor"; done <<END
null 666 1 3
zero 666 1 5
full 666 1 7
random 666 1 8
urandom 666 1 9
tty 666 5 0
END
    ln -s pts/ptmx "$1/ptmx"
    ln -s /proc/self/fd "$1/fd"
    ln -s /proc/self/fd/0 "$1/stdin"
    ln -s /proc/self/fd/1 "$1/stdout"
    ln -s /proc/self/fd/2 "$1/stderr"
    mkdir -m 1777 "$1/shm"
}

# What was mounted goes before the test's directory is removed.
eval "$(declare -f stop_all | sed '1s/stop_all/stop_started/')"
stop_all() {
    stop_started
    [ ! -d "$TMP/cgroup" ] || {
        await "the end of all processes of the machines" find "$TMP/cgroup/rgpu-machines-$$" -depth -type d -exec rmdir {} +
        umount "$TMP/cgroup"
    }
    [ ! -d "$TMP/machines" ] || umount --recursive --lazy "$TMP/machines"
}

# Fails if there are no cgroups for a systemd.
make_cgroup() {
    mkdir -p "$TMP/cgroup"
    mountpoint -q "$TMP/cgroup" || mount -t cgroup2 cgroup2 "$TMP/cgroup" || { rmdir "$TMP/cgroup"; return 1; }
    mkdir -p "$1"
}
# What a machine's first process does before it becomes systemd: DIRECTORY is the root, CGROUP its own.
become_systemd() {
    cat <<END
echo 0 >'$2/cgroup.procs'
exec unshare --cgroup bash -c "
    mount -t cgroup2 cgroup2 '$1/sys/fs/cgroup'
    cd '$1'
    pivot_root . mnt
    umount --lazy /mnt
    exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd"
END
}
# A degraded one has booted; systemctl's status is then not 0.
booted_systemd() { [[ $(on "$1" systemctl is-system-running 2>/dev/null) =~ running|degraded ]]; }

boot_machine() {
    local name=$1 number=$((booted + 1)) kept=MACHINE_$1 dir=$TMP/machines/$1 cgroup=$TMP/cgroup/rgpu-machines-$$/$1
    local first="exec chroot '$dir/root' sleep infinity"
    booted=$number
    mkdir -p "$dir"/{changes,work,root}
    mount -t overlay -o "lowerdir=${!kept},upperdir=$dir/changes,workdir=$dir/work" "$name" "$dir/root"
    machine_root[$name]=$dir/root machine_inner[$name]=$dir/root
    make_devices "$dir/root/dev"
    mount -t tmpfs -o mode=755 run "$dir/root/run"
    if [ "${2:-}" = systemd ] && make_cgroup "$cgroup"; then
        first=$(become_systemd "$dir/root" "$cgroup") machine_inner[$name]=/
        rm "$dir/root/usr/sbin/policy-rc.d"
        echo "${MACHINE_ALIAS[$name]:-$name}" >"$dir/root/etc/hostname"
    else
        [ -z "${2:-}" ] || diag "no cgroups for the systemd of $name: a script is its systemctl"
        install -m 755 "$(dirname "${BASH_SOURCE[0]}")/systemctl" "$dir/root/usr/local/sbin/systemctl"
    fi
    start "machine-$name" unshare --mount --uts --net --pid --fork --kill-child bash -c "
        mount -t proc proc '$dir/root/proc'; mount -t sysfs -o ro sysfs '$dir/root/sys'; hostname '${MACHINE_ALIAS[$name]:-$name}'; echo up
        $first"
    await_line "machine-$name" up || bail "the machine $name did not start"
    machine_pid[$name]=$(pgrep -P "$PID")
    ip link add "to$number" type veth peer name eth0 netns "${machine_pid[$name]}"
    ip link set "to$number" master machines up
    nsenter -t "${machine_pid[$name]}" --net sh -c "ip link set lo up; ip link set eth0 up
        ip address add 10.77.0.$number/24 dev eth0"
    [ "${machine_inner[$name]}" != / ] || await "systemd of $name" booted_systemd "$name" || bail "the machine $name did not boot"
    echo "10.77.0.$number $name ${MACHINE_ALIAS[$name]:-}" >>"$TMP/hosts"
}
declare -A MACHINE_ALIAS=()
# Once all are up.
tell_hosts() {
    local name
    for name in "${!machine_root[@]}"; do
        { echo 127.0.0.1 localhost; cat "$TMP/hosts"; } >"${machine_root[$name]}/etc/hosts"
    done
}

on() {
    local name=$1
    shift
    nsenter -t "${machine_pid[$name]}" --mount --uts --net --pid env -i HOME=/root TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "${machine_inner[$name]}" "$@"
}

# A step; where its output goes to another machine by ssh, it does so here too.
run_step() {
    if [[ $2 =~ ^(.*)\ \|\ ssh\ root@([a-z0-9]+)\ \'(.*)\'$ ]]; then
        on "$1" bash -ec "${BASH_REMATCH[1]}" | on "$(machine_called "${BASH_REMATCH[2]}")" bash -ec "${BASH_REMATCH[3]}"
    else
        on "$1" bash -ec "$2"
    fi
}
machine_called() { awk -v name="$1" '$2 == name || $3 == name { print $2 }' "$TMP/hosts"; }
