#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A sample for Prolog= of slurm.conf, on nodes that are GPU boxes and run virtual machines for jobs: a job that was
# submitted with --constraint=vm finds a window of the box's memory for its machine. What QEMU is to be told lies in
# /run/rgpu-vm/jobNUMBER (slurm-job.sh). slurm-epilog.sh is its other half.
case ",$SLURM_JOB_CONSTRAINTS," in
*[!a-z]vm[!a-z]*) ;;
*) exit 0 ;;
esac
state=${RGPU_VM_STATE:-/run/rgpu-vm}
mkdir -p "$state" && chmod 0755 "$state"
# A prolog that fails takes the node out of service. The job sees that there is no window, and its programs use TCP.
"${RGPUCTL:-rgpuctl}" vm attach "job$SLURM_JOB_ID" --size "${RGPU_VM_SIZE:-4G}" --user "$SLURM_JOB_UID" \
    ${RGPU_ADMIN:+--socket "$RGPU_ADMIN"} >"$state/job$SLURM_JOB_ID" || rm -f "$state/job$SLURM_JOB_ID"
exit 0
