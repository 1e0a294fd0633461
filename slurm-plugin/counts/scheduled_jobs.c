// SPDX-License-Identifier: GPL-2.0-or-later
// See scheduled_jobs.h.
#include "slurm-plugin/counts/scheduled_jobs.h"

#include "slurm-plugin/base/job_order.h"
#include "slurm-plugin/counts/preempt.h"

struct collection {
    struct count *count;
    const job_record_t *first_plain; // that waits for any GPUs
    const job_record_t *next[COUNT_NEXT_MAX];
    size_t next_count;
};

static const struct count_class *class_of(const struct count *count, const job_record_t *job)
{
    char name[GPU_CLASS_MAX];

    gpu_class_in(job->licenses, name);
    return *name ? count_find((struct count *)count, name) : NULL;
}

static int scheduled_jobs_look(void *x, void *argument)
{
    struct collection *collection = argument;
    job_record_t *job = x;
    const struct count_class *class;
    bool holds = IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) || IS_JOB_COMPLETING(job);

    // Most jobs of a list have ended.
    if ((!holds && !IS_JOB_PENDING(job)) || !licenses_name_ours(job->licenses))
        return 0;
    if (holds) {
        count_add_job(collection->count, job->job_id, job->start_time, job->end_time,
                      preempt_lends(job));
    } else if (job_order_waits(job)) {
        class = class_of(collection->count, job);
        if (class)
            collection->count->classes[class - collection->count->classes].waiting = true;
        else if (!collection->first_plain || job_order_before(job, collection->first_plain))
            collection->first_plain = job;
    }
    return 0;
}

// Keeps the first few in their order.
static int scheduled_jobs_choose(void *x, void *argument)
{
    struct collection *collection = argument;
    const job_record_t *job = x, *before;

    if (!job_order_waits(job) || !class_of(collection->count, job) ||
        (collection->first_plain && job_order_before(collection->first_plain, job)))
        return 0;
    for (size_t i = 0; i < COUNT_NEXT_MAX; i++) {
        if (i == collection->next_count) {
            collection->next[collection->next_count++] = job;
            return 0;
        }
        if (job_order_before(job, collection->next[i])) {
            before = collection->next[i];
            collection->next[i] = job;
            job = before;
        }
    }
    return 0;
}

void scheduled_jobs_collect(struct count *count)
{
    slurmctld_lock_t reading = {.conf = READ_LOCK, .job = READ_LOCK, .part = READ_LOCK};
    struct collection collection = {.count = count};

    lock_slurmctld(reading);
    if (job_list) {
        list_for_each(job_list, scheduled_jobs_look, &collection);
        list_for_each(job_list, scheduled_jobs_choose, &collection);
    }
    for (size_t i = 0; i < collection.next_count; i++)
        count->next[count->next_count++] =
            (uint32_t)(class_of(count, collection.next[i]) - count->classes);
    unlock_slurmctld(reading);
    count_sort_jobs(count);
}
