// SPDX-License-Identifier: GPL-2.0-or-later
// job_submit/rgpu as slurmctld loads it. The work is done by rgpu_submit.so beside it; without
// that, jobs that ask for remote GPUs are refused, and all others pass.
#include "slurm-plugin/base/slurm_headers.h"

#include "slurm-plugin/base/late.h"

PLUGIN_IDENTITY_OF_RUNNING_SLURM("licences for remote GPUs", "job_submit/rgpu")

PLUGIN_EXPORT int init(void);
PLUGIN_EXPORT FINI_TYPE fini(void);
PLUGIN_EXPORT int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **message);
PLUGIN_EXPORT int job_modify(job_desc_msg_t *change, job_record_t *job,
                             uint32_t submit_uid MODIFY_MESSAGE(char **message));

static __typeof__(fini) *core_fini;
static __typeof__(job_submit) *core_submit;
static __typeof__(job_modify) *core_modify;
static struct late_half core = {
    .file = "rgpu_submit.so",
    .functions = {{"fini", &core_fini}, {"job_submit", &core_submit}, {"job_modify", &core_modify}},
};

int init(void)
{
    const char *why = plugin_fits_or_says() ? late_begin(&core) : NULL;

    if (why)
        error("%s: jobs that ask for remote GPUs are refused: %s", plugin_type, why);
    return SLURM_SUCCESS;
}

FINI_TYPE fini(void)
{
    if (core.library)
        (void)core_fini();
    late_unload(&core);
    FINI_RETURN;
}

// In the absence of what would understand the request.
static int refuse(const job_desc_msg_t *job)
{
    return plugin_fits() && job->tres_per_node && strstr(job->tres_per_node, "rgpu")
               ? ESLURM_INVALID_GRES
               : SLURM_SUCCESS;
}

int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **message)
{
    int status;

    if (core.library)
        return core_submit(job, submit_uid, message);
    status = refuse(job);
    if (status && message)
        *message = xstrdup("rgpu: there are no remote GPUs now: slurmctld's log says why");
    return status;
}

int job_modify(job_desc_msg_t *change, job_record_t *job,
               uint32_t submit_uid MODIFY_MESSAGE(char **message))
{
    return core.library ? core_modify(change, job, submit_uid MODIFY_MESSAGE(message))
                        : refuse(change);
}
