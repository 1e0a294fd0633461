#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A sample for Epilog= of slurm.conf, the other half of slurm-prolog.sh: ends the job's window, and with it the sessions
# of a machine that still runs. The machine itself is a process of the job, which Slurm ends.
state=${RGPU_VM_STATE:-/run/rgpu-vm}
[ -e "$state/job$SLURM_JOB_ID" ] || exit 0
rm -f "$state/job$SLURM_JOB_ID"
"${RGPUCTL:-rgpuctl}" vm detach "job$SLURM_JOB_ID" ${RGPU_ADMIN:+--socket "$RGPU_ADMIN"}
exit 0
