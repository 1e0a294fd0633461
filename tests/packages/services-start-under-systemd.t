#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The services of the packages under a systemd that has booted a machine (seconds: 900): they start with all that
# their units confine them to, serve, are started anew when they are killed, and a reload says what is wrong.
. "$(dirname "$0")/../pages/machines.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "what is packaged is the plain build"
[ "$(id -u)" = 0 ] || skip_all "machines of one's own need root"
requires dpkg-buildpackage dh debootstrap unshare nsenter ip mount pgrep qemu-system-x86_64 busybox cpio
[ -e "$BUILD/lib/slurm/gres_rgpu.so" ] || skip_all "the plugins are not built: Slurm's headers are missing"
[ -n "${PACKAGES_AS_RELEASED:-}" ] || skip_all "an emulated machine takes minutes: make check-packages boots it"
version=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
packages=$TOP/build/packages-of-tests/services
export PACKAGES=$packages
if [ -z "${IN_PRIVATE:-}" ]; then
    rm -f "$packages"/*.deb
    "$TOP/scripts/package" deb --as-built "$version" >"$TMP/deb.log" 2>&1 || bail "make deb: $(tail -n 20 "$TMP/deb.log")"
    depends=$(for deb in "$packages"/rgpu-*_"${version}"_amd64.deb; do dpkg-deb -f "$deb" Depends; done |
        tr , '\n' | sed 's/|.*//; s/(.*//; s/ //g' | grep -v '^rgpu' | sort -u)
    # shellcheck disable=SC2086
    build_machine packages $depends
fi
private_machines "$@"
boot_machine packages
tell_hosts
root=${machine_root[packages]}
mkdir -p "$root/debs" "$root/programs"
cp "$packages"/rgpu-{client,tools,box,broker}_"$version"_amd64.deb "$root/debs"
ok "the packages install" on packages bash -c 'dpkg -i /debs/*.deb'
on packages rgpu-brokerd --make-key /etc/rgpu/cluster.key
on packages chown rgpu-broker: /etc/rgpu/cluster.key
printf '[box]\nlisten = 127.0.0.1:7300\ndevices = sim:1\n[auth]\nauth = none\n' >"$root/etc/rgpu/rgpud.conf"
cp "$BUILD/tests/programs/saxpy" "$BUILD/tests/held-data" "$root/programs"
rm "$root/usr/local/sbin/systemctl" "$root/usr/sbin/policy-rc.d"
cat >"$root/programs/steps" <<'END'
say() { echo "$1: $(shift; "$@" 2>&1 | tail -n 1)"; }
status() { local status=0; "${@:2}" >/tmp/out 2>&1 || status=$?; echo "$1: status $status"; }
say "the first process" cat /proc/1/comm
status "start" systemctl enable --now rgpu-brokerd rgpud
for service in rgpu-brokerd rgpud rgpu-workers; do
    say "$service" systemctl is-active $service
    say "$service has privileges" systemctl show -p NoNewPrivileges --value $service
    pid=$(systemctl show -p MainPID --value $service)
    say "$service runs as" stat -c %U "/proc/$pid"
done
status "a program" rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy
cat /tmp/out
mkfifo /run/orders /run/answers
rgpuctl run --box 127.0.0.1:7300 -- /programs/held-data 8 </run/orders >/run/answers &
exec 9>/run/orders 8</run/answers
read -r -t 60 answer <&8
say "the program is" echo "$answer"
session=$(rgpuctl sessions --json --socket /run/rgpu/rgpud.sock | sed -n 's/.*"session":\([0-9]*\).*/\1/p' | head -n 1)
status "suspend" rgpuctl suspend "$session" --socket /run/rgpu/rgpud.sock
cat /tmp/out
say "the session is" bash -c "rgpuctl sessions --json --socket /run/rgpu/rgpud.sock | sed -n 's/.*\"suspension\":\"\([^\"]*\)\".*/\1/p'"
status "resume" rgpuctl resume "$session" --socket /run/rgpu/rgpud.sock
echo >&9
read -r -t 60 answer <&8
say "its data" echo "$answer"
exec 9>&- 8<&-
wait $!
group=/sys/fs/cgroup/system.slice/rgpu-workers.service
say "tasks of each worker" bash -c "cat $group/workers/p*/pids.max | sort -u"
say "a worker is in" bash -c "cat $group/workers/p*/cgroup.procs | head -n 1 | xargs -I PID cat /proc/PID/comm"
say "controllers of workers" bash -c "cat $group/workers/p*/cgroup.controllers | sort -u"
say "processes outside of the workers' cgroups" cat $group/cgroup.procs
say "rights of rgpud" bash -c "awk '/^Cap(Prm|Bnd|Amb)/ { print \$2 }' /proc/$(systemctl show -p MainPID --value rgpud)/status | sort -u"
say "sockets for containers" bash -c 'ls /run/rgpu-clients | grep -c ^rgpu-'
status "the broker answers" rgpuctl health --broker unix:/run/rgpu-broker/broker.sock
status "reload" systemctl reload rgpud rgpu-brokerd
echo 'lisen = 1' >>/etc/rgpu/rgpud.conf
status "reload of what is wrong" systemctl reload rgpud
say "rgpud goes on" systemctl is-active rgpud
sed -i '$d' /etc/rgpu/rgpud.conf
await_another_process_of() {
    until [ "$(systemctl show -p MainPID --value "$1")" != "$2" ] && systemctl is-active -q "$1"; do sleep 0.2; done
}
rgpuctl run --box 127.0.0.1:7300 -- /programs/held-data 8 </run/orders >/run/answers &
holder=$!
exec 9>/run/orders 8</run/answers
read -r -t 60 answer <&8
say "another program is" echo "$answer"
for service in rgpu-brokerd rgpud; do
    pid=$(systemctl show -p MainPID --value $service)
    kill -KILL "$pid"
    await_another_process_of "$service" "$pid"
    say "$service after it was killed" systemctl is-active $service
done
status "a program after that" rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy
spawner=$(systemctl show -p MainPID --value rgpu-workers)
echo >&9
read -r -t 60 answer <&8
say "its data after rgpud was killed" echo "$answer"
systemctl restart rgpud
echo >&9
read -r -t 60 answer <&8
say "its data after a restart of rgpud" echo "$answer"
[ "$(systemctl show -p MainPID --value rgpu-workers)" = "$spawner" ]
say "the spawner is kept at a restart of rgpud" echo "status $?"
status "a program after a restart" rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy
exec 9>&- 8<&-
wait $holder
pid=$(systemctl show -p MainPID --value rgpud) spawner=$(systemctl show -p MainPID --value rgpu-workers)
kill -KILL "$spawner"
for service in rgpud rgpu-workers; do
    await_another_process_of "$service" "$pid"
    pid=$spawner
done
status "a program after the spawner was killed" rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy
systemctl stop rgpud
await_inactive() { until [ "$(systemctl is-active "$1")" = inactive ]; do sleep 0.2; done; }
await_inactive rgpu-workers
say "the workers' unit after a stop of rgpud" systemctl is-active rgpu-workers
systemctl start rgpud
status "a program after a stop and a start" rgpuctl run --box 127.0.0.1:7300 -- /programs/saxpy
journalctl -b --no-pager -u rgpud -u rgpu-workers -u rgpu-brokerd | tail -n 60
END
out=$("$TOP/scripts/rdma-vm" --timeout 600 --console "$TMP/console" --boot "$root" bash /programs/steps 2>"$TMP/vm.log") || {
    [ $? != 125 ] || skip_all "$(tail -n 1 "$TMP/vm.log")"
}
like "$out" '^the first process: systemd$' "a machine boots with systemd"
is "$(grep '^start: ' <<<"$out")" "start: status 0" "the services are enabled and start"
for service in rgpu-brokerd rgpud rgpu-workers; do
    like "$out" "^$service: active$" "$service is active"
    like "$out" "^$service runs as: rgpu" "as a user of its own"
done
like "$out" '^a program: status 0$' "a program runs on the box"
like "$out" '^the program is: ready$' "a program holds data"
like "$out" '^suspend: status 0$' "its sessions can be suspended, by processes of the workers' users"
like "$out" '^the session is: suspended$' "and are"
like "$out" '^resume: status 0$' "and resumed"
like "$out" '^its data: right 1$' "with their data"
like "$out" '^tasks of each worker: 4096$' "each worker has a cgroup, which bounds its threads"
like "$out" '^a worker is in: rgpu-worker' "and is in it"
like "$out" '^controllers of workers: (cpu ?|memory ?|pids ?){3}$' "and its memory and part of the processors"
like "$out" "^processes outside of the workers' cgroups: *$" "the spawner and the workers are in cgroups of their own"
like "$out" '^rights of rgpud: 0000000000000000$' "rgpud has no capability"
like "$out" '^sockets for containers: [1-9]' "and its workers have sockets for containers"
like "$out" '^the broker answers: status 0$' "the broker answers on its socket"
like "$out" '^reload: status 0$' "they are reloaded"
like "$out" '^reload of what is wrong: status [1-9]' "a reload with settings that are wrong fails"
like "$out" '^rgpud goes on: active$' "and the box goes on"
for service in rgpu-brokerd rgpud; do like "$out" "^$service after it was killed: active$" "$service is started anew when it is killed"; done
like "$out" '^a program after that: status 0$' "and serves"
like "$out" '^a program after the spawner was killed: status 0$' "both are started anew when the spawner is killed, and serve"
like "$out" '^another program is: ready$' "another program holds data"
like "$out" '^its data after rgpud was killed: right 1$' "which it has after rgpud was killed"
like "$out" '^its data after a restart of rgpud: right 2$' "and after a restart"
like "$out" '^the spawner is kept at a restart of rgpud: status 0$' "which keeps the spawner"
like "$out" "^the workers' unit after a stop of rgpud: inactive$" "a stop of rgpud stops the workers' unit"
like "$out" '^a program after a stop and a start: status 0$' "which starts again with rgpud"
like "$out" '^a program after a restart: status 0$' "and the box serves"
[ $tap_failures = 0 ] || { diag "$out"; diag "$(tail -n 20 "$TMP/vm.log" "$TMP/console")"; }
done_testing
