#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A sample of a job that runs a command in a virtual machine with remote GPUs of the box on the same host:
#     sbatch --constraint=vm --gres=rgpu:1 slurm-job.sh ./train.sh
# The image is the site's. It has the client library, and the rule 60-rgpu-vm.rules. At its start it mounts the share `job` as
# /run/job, and each share that `mounts` there names where that says; runs `command` with `environment` as the job's user,
# writes its status to `status`, and powers off (docs/guide/places.md). The tickets name the box by its address, which QEMU's own network reaches.
#
# RGPU_VM_IMAGE, RGPU_VM_MEMORY     the image, and the machine's memory
# RGPU_VM_KERNEL, RGPU_VM_INITRD    an image without a boot loader is started by these
# RGPU_VM_ACCEL, RGPU_VM_CPU        kvm and host unless said: tcg and max where the node has no KVM
#SBATCH --nodes=1
set -eu
image=${RGPU_VM_IMAGE:-/srv/images/compute.qcow2}
share=$(mktemp -d)
trap 'rm -rf "$share"' EXIT
{ printf 'cd %q && exec' "$PWD"; printf ' %q' "$@"; echo; } >"$share/command"
export -p | grep -E 'declare -x (SLURM_|RGPU_|CUDA_|OMP_)' >"$share/environment" || true
# Tickets lie where nobody but their user may look, so the machine gets copies.
for ticket in RGPU_TICKET_FILE RGPU_JOB_TICKET_FILE; do
    [ -n "${!ticket:-}" ] || continue
    install -m 600 "${!ticket}" "$share/$ticket"
    echo "export $ticket=/run/job/$ticket" >>"$share/environment"
done
devices=(-virtfs "local,path=$share,mount_tag=job,security_model=none"
    -virtfs "local,path=$HOME,mount_tag=home,security_model=none")
echo "home $HOME" >"$share/mounts"
window=${RGPU_VM_STATE:-/run/rgpu-vm}/job$SLURM_JOB_ID
if [ -r "$window" ]; then
    read -ra said < <(grep '^-chardev' "$window")
    devices+=("${said[@]}")
else
    echo "no window for this job: its programs use TCP" >&2
fi
[ -z "${RGPU_VM_KERNEL:-}" ] ||
    devices+=(-kernel "$RGPU_VM_KERNEL" -initrd "$RGPU_VM_INITRD" -append "console=ttyS0 root=/dev/vda ro")
qemu-system-x86_64 -machine "q35,accel=${RGPU_VM_ACCEL:-kvm}" -cpu "${RGPU_VM_CPU:-host}" -smp "${SLURM_CPUS_ON_NODE:-1}" \
    -m "${RGPU_VM_MEMORY:-8G}" -nographic -no-reboot -drive "file=$image,if=virtio,snapshot=on" \
    -nic user,model=virtio-net-pci "${devices[@]}"
exit "$(cat "$share/status" 2>/dev/null || echo 1)"
