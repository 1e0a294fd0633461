#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that went back into the queue because the broker was away is tried again within seconds, however long Slurm keeps other
# requeued jobs back. seconds: 400
. "$(dirname "$0")/cluster.sh"
RGPU_JOBS=('acquire_wait = 1s')
eval "$(declare -f slurm_settings | sed '1s/slurm_settings/settings_as_usual/')"
slurm_settings() {
    settings_as_usual "$@"
    sed -i 's/cred_expire=15/cred_expire=1000/' "$SLURM_DIR/slurm.conf"
}
start_pool_cluster "SchedulerParameters=bf_licenses,allow_zero_lic,sched_interval=2,bf_interval=2"
start_sync
await "the count" free_licenses_are rgpu 4
stop "$BROKER_PID" KILL
job=$(as $ALICE sbatch --parsable -o /dev/null --gres=rgpu:1 --wrap true)
tried() { [ "$(job_field "$job" Restarts)" -ge "$1" ]; }
ok "a job that starts while the broker is away goes back into the queue" await "the requeue" tried 1
ok "and is tried again" await "the next requeue" tried 2
start_broker --munge yes --munge-socket "$MUNGE_SOCKET"
ok "until the broker is there" await "its end" job_is "$job" COMPLETED
done_testing
