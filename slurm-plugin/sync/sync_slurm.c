// SPDX-License-Identifier: GPL-2.0-or-later
// rgpu-slurm-sync's half towards slurmctld.
#include "slurm-plugin/sync/sync_slurm.h"

#include <errno.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/request/job_request.h"
#include "slurm-plugin/base/lent.h"
#include "slurm-plugin/base/slurm_versions.h"

static char problem[256];

static int sync_slurm_explain(const char *what)
{
    snprintf(problem, sizeof(problem), "%s: %s", what, slurm_strerror(errno));
    return -EREMOTEIO;
}

void sync_slurm_start(void)
{
    slurm_init(NULL);
}

const char *sync_slurm_error(void)
{
    return problem;
}

int sync_slurm_identify(struct slurm_settings *settings)
{
    slurm_conf_t *conf = NULL;
    int error;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return sync_slurm_explain("the configuration cannot be read");
    error = slurm_settings_identify(settings, conf->cluster_name,
                                    conf->control_cnt ? conf->control_machine[0] : NULL,
                                    conf->slurmctld_port);
    slurm_free_conf(conf);
    if (error)
        snprintf(problem, sizeof(problem), "no memory");
    return error;
}

// ---- jobs ----

static bool sync_slurm_asks(const char *gres)
{
    struct gpu_request request;
    const char *why;

    return gpu_request_parse(gres, NULL, 0, &request, &why) == 0 && request.per_node > 0;
}

static void sync_slurm_read_job(const job_info_t *job, struct live_job *out)
{
    uint32_t base = job->job_state & JOB_STATE_BASE;

    *out = (struct live_job){
        .id = job->job_id,
        .start = job->start_time,
        .live = base == JOB_RUNNING || base == JOB_SUSPENDED ||
                (job->job_state & (JOB_COMPLETING | JOB_CONFIGURING)),
        .runs = base == JOB_RUNNING && !(job->job_state & (JOB_COMPLETING | JOB_CONFIGURING)),
        .pending = base == JOB_PENDING,
        .completing = job->job_state & JOB_COMPLETING,
        .suspended = base == JOB_SUSPENDED,
        .lent_to = lent_to(job->system_comment),
        .can_requeue = job->batch_flag && job->requeue,
        .asks = sync_slurm_asks(job->tres_per_node),
    };
}

int sync_slurm_jobs(struct job_table *table)
{
    job_info_msg_t *message = NULL;

    if (slurm_load_jobs(0, &message, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
        return sync_slurm_explain("jobs");
    table->count = message->record_count;
    table->jobs = calloc(table->count + 1, sizeof(*table->jobs));
    for (size_t i = 0; table->jobs && i < table->count; i++)
        sync_slurm_read_job(&message->job_array[i], &table->jobs[i]);
    slurm_free_job_info_msg(message);
    if (!table->jobs)
        return -ENOMEM;
    job_table_sort(table);
    return 0;
}

// ---- jobs that have lost their GPUs ----

void sync_slurm_tell(uint32_t job, const char *text)
{
    job_desc_msg_t update;

    slurm_notify_job(SLURM_JOB(job), (char *)text);
    slurm_init_job_desc_msg(&update);
    update.JOB_ID = job;
    update.admin_comment = (char *)text;
    slurm_update_job(&update);
}

int sync_slurm_end(uint32_t job, bool requeue)
{
    int status = requeue ? slurm_requeue(SLURM_JOB(job), 0)
                         : slurm_kill_job(SLURM_JOB(job), SIGKILL, 0);

    return status == SLURM_SUCCESS ? 0 : sync_slurm_explain("job");
}
