// SPDX-License-Identifier: GPL-2.0-or-later
// See job_order.h.
#include "slurm-plugin/base/job_order.h"

#include "slurm-plugin/request/job_request.h"

static uint32_t tier_of(const job_record_t *job)
{
    return job->part_ptr ? job->part_ptr->priority_tier : 0;
}

bool job_order_before(const job_record_t *job, const job_record_t *other)
{
    if (tier_of(job) != tier_of(other))
        return tier_of(job) > tier_of(other);
    if (job->priority != other->priority)
        return job->priority > other->priority;
    return job->job_id < other->job_id;
}

bool job_order_waits(const job_record_t *job)
{
    return IS_JOB_PENDING(job) && job->priority &&
           (!job->details || job->details->begin_time <= time(NULL)) &&
           (job->state_reason == WAIT_NO_REASON || job->state_reason == WAIT_PRIORITY ||
            job->state_reason == WAIT_LICENSES);
}

static int look_for_first(void *x, void *argument)
{
    job_record_t **first = argument, *job = x;

    if (job_order_waits(job) && licenses_name_ours(job->licenses) &&
        (!*first || job_order_before(job, *first)))
        *first = job;
    return 0;
}

job_record_t *job_order_first(void)
{
    job_record_t *first = NULL;

    list_for_each(job_list, look_for_first, &first);
    return first;
}
