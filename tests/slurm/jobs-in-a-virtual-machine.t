#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# seconds: 900
# A job with --constraint=vm boots a virtual machine of its own, whose programs use the job's GPUs through a window of the box on
# the same host: config/vm's prolog, job and epilog in a real cluster, with an image that starts as the job asks for.
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/image.sh"
export TOP BUILD
requires qemu-system-x86_64 busybox cpio mke2fs
require_plugins
[ "$(uname -m)" = x86_64 ] || skip_all "the machine is made for x86-64 hosts only"
[ -z "${VALGRIND:-}" ] || skip_all "the emulated machine is too slow for checked programs"
mkdir -p "$TMP/vm" "$TMP/windows"
chmod 711 "$TMP" "$TMP/windows"
make_image "$TMP/vm" "$BUILD"/tests/programs/{saxpy,endure} || bail "no image"
chmod 755 "$TMP/vm"

# What stands in /etc on a site's nodes: where this test's box is asked, and that jobs find its image.
for part in prolog epilog; do
    printf '#!/bin/sh\nexport RGPUCTL=%q RGPU_ADMIN=%q RGPU_VM_STATE=%q RGPU_VM_SIZE=128M\nexec %q\n' "$BUILD/bin/rgpuctl" \
        "$TMP/windows/admin" "$TMP/state" "$TOP/config/vm/slurm-$part.sh" >"$TMP/vm/$part"
    chmod 755 "$TMP/vm/$part"
done
# In the machine the host of the box is 10.0.2.2.
port=$(free_ports 1)
BOX_OPTIONS[box1]="--listen 127.0.0.1:$port --announce 10.0.2.2:$port --client-sockets $TMP/windows --admin-socket $TMP/windows/admin"
NODE_GRES="rgpu:64 Feature=vm" start_pool_cluster "Prolog=$TMP/vm/prolog" "Epilog=$TMP/vm/epilog"
export RGPU_BROKER=unix:$BROKER_SOCKET
"$BUILD/bin/rgpuctl" drain box2 >/dev/null # whose windows are not this node's
mkdir -m 1777 "$TMP/home"
install -m 755 "$TOP/config/vm/slurm-job.sh" "$TMP/vm/job.sh" # users may not look into every tree
windows() { "$BUILD/bin/rgpuctl" vm list --json --socket "$TMP/windows/admin"; }
no_windows() { [ -z "$(windows)" ]; }
window_has_sessions() { windows | grep -q '"sessions":1'; }
submit() { # COMMAND...
    as $ALICE env HOME="$TMP/home" TMPDIR=/tmp RGPU_VM_STATE="$TMP/state" RGPU_VM_IMAGE="$TMP/vm/image" RGPU_VM_KERNEL="$TMP/vm/kernel" \
        RGPU_VM_INITRD="$TMP/vm/initrd" RGPU_VM_ACCEL=tcg RGPU_VM_CPU=max RGPU_VM_MEMORY=512M RGPU_LOG=info \
        sbatch --parsable --chdir "$TMP/home" --output "$TMP/home/%j" --constraint=vm --gres=rgpu:1 "$TMP/vm/job.sh" "$@"
}
ended() { [[ $(job_state "$1") =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT)$ ]]; }

job=$(submit /opt/saxpy)
READY_SECONDS=300 ok "a job boots its machine, which powers itself off" await "the job" ended "$job"
is "$(job_state "$job")" COMPLETED "its command has succeeded" || sed 's/^/# /' "$TMP/home/$job" >&2
like "$(cat "$TMP/home/$job")" 'transport=vm reason=".*a window of the box' "on a GPU of the job, through the window"
ok "its window goes with it" await "no window" no_windows
ok "and its GPU" await "no leases" no_leases

job=$(submit bash -c "exit 3")
READY_SECONDS=300 await "the job" ended "$job"
is "$(job_state "$job") $(job_field "$job" ExitCode)" "FAILED 3:0" "a command that fails is the job's failure"

job=$(submit /opt/endure --to)
at_work_or_ended() { window_has_sessions || ended "$job"; }
READY_SECONDS=300 await "its session" at_work_or_ended
ok "a job computes in its machine" window_has_sessions
as $ALICE scancel "$job"
ok "one that is cancelled meanwhile" await "the job" job_is "$job" CANCELLED
ok "leaves no window" await "no window" no_windows
ok "no GPU" await "no leases" no_leases
ok "and no machine" await "no machine" bash -c "! pgrep -f '^qemu-system-x86_64 .*path=$TMP/windows'"
ok "the invariants hold" invariants --idle
done_testing
