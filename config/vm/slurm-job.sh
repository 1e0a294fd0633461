#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A sample of a job that runs a command in a virtual machine with remote GPUs of the box on the same host:
#     sbatch --constraint=vm --gres=rgpu:1 slurm-job.sh ./train.sh
# The image is the site's. At its start it mounts the share `job` and runs `command` there, with `environment`, and powers
# off; it has the client library, and the rule 60-rgpu-vm.rules. The tickets name the box by its address, which QEMU's own
# network reaches.
#SBATCH --nodes=1
set -eu
image=${RGPU_VM_IMAGE:-/srv/images/compute.qcow2}
share=$(mktemp -d)
trap 'rm -rf "$share"' EXIT
{ printf 'cd %q && exec' "$PWD"; printf ' %q' "$@"; echo; } >"$share/command"
export -p | grep -E 'declare -x (SLURM_|RGPU_|CUDA_|OMP_)' >"$share/environment" || true
window=()
if [ -r "/run/rgpu-vm/job$SLURM_JOB_ID" ]; then
    read -ra window < <(grep '^-chardev' "/run/rgpu-vm/job$SLURM_JOB_ID")
else
    echo "no window for this job: its programs use TCP" >&2
fi
qemu-system-x86_64 -machine q35,accel=kvm -cpu host -smp "${SLURM_CPUS_ON_NODE:-1}" -m "${RGPU_VM_MEMORY:-8G}" \
    -nographic -no-reboot -drive "file=$image,if=virtio,snapshot=on" -nic user,model=virtio-net-pci \
    -virtfs "local,path=$share,mount_tag=job,security_model=none" -virtfs "local,path=$HOME,mount_tag=home,security_model=none" \
    "${window[@]}"
exit "$(cat "$share/status" 2>/dev/null || echo 1)"
