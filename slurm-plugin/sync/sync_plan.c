// SPDX-License-Identifier: GPL-2.0-or-later
// The decisions of rgpu-slurm-sync.
#include "slurm-plugin/sync/sync_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/base/job_lease.h"

// ---- jobs ----

static int compare_jobs(const void *a, const void *b)
{
    const struct live_job *left = a, *right = b;

    return left->id < right->id ? -1 : left->id > right->id;
}

void job_table_sort(struct job_table *table)
{
    if (table->count > 0)
        qsort(table->jobs, table->count, sizeof(*table->jobs), compare_jobs);
}

const struct live_job *job_table_find(const struct job_table *table, uint32_t id)
{
    struct live_job key = {.id = id};

    return table->count ? bsearch(&key, table->jobs, table->count, sizeof(key), compare_jobs)
                        : NULL;
}

// ---- leases ----

static bool sync_plan_is_over(const json_t *lease)
{
    const char *state = lease_text(lease, "state");

    return !strcmp(state, "ending") || !strcmp(state, "ended");
}

static bool has_lease(const struct slurm_settings *settings, const json_t *leases, uint32_t id,
                      time_t start, bool any_start)
{
    const json_t *lease;
    size_t i;

    json_array_foreach(leases, i, lease) {
        uint32_t job;
        time_t its_start;
        if (!sync_plan_is_over(lease) &&
            lease_key_parse(settings, lease_text(lease, "key"), &job, &its_start) && job == id &&
            (any_start || its_start == start))
            return true;
    }
    return false;
}

static bool sync_plan_is_wanted(const struct slurm_settings *settings, const json_t *leases,
                                const struct job_table *jobs, uint32_t id, time_t start)
{
    const struct live_job *job = job_table_find(jobs, id);

    if (!job || !job->live || !job->asks)
        return false;
    return job->start == start ||
           (job->start > start && !has_lease(settings, leases, id, job->start, false));
}

json_t *plan_orphans(const struct slurm_settings *settings, const json_t *leases,
                     const struct job_table *jobs)
{
    json_t *orphans = json_array();
    const json_t *lease;
    size_t i;

    json_array_foreach(leases, i, lease) {
        uint32_t job;
        time_t start;
        if (!sync_plan_is_over(lease) &&
            lease_key_parse(settings, lease_text(lease, "key"), &job, &start) &&
            !sync_plan_is_wanted(settings, leases, jobs, job, start))
            json_array_append_new(orphans, json_string(lease_text(lease, "id")));
    }
    return orphans;
}

// Returns true while the borrower of the job's GPUs needs them. The lender gets them back as soon
// as the borrower ends, and runs again only after that.
static bool is_lent(const struct job_table *jobs, const struct live_job *job)
{
    const struct live_job *borrower = job->lent_to ? job_table_find(jobs, job->lent_to) : NULL;

    return borrower && (borrower->pending || (borrower->live && !borrower->completing));
}

// Returns "suspend", "resume" or, if the lease is as it should be, NULL. A suspension that lends
// the GPUs to another job is not tried again after it failed. An idle lease is not resumed.
static const char *order_for(const struct job_table *jobs, const struct live_job *job,
                             const json_t *lease)
{
    const char *suspension = lease_text(lease, "suspension");
    bool away = job->suspended && (!job->lent_to || is_lent(jobs, job)),
         back = job->suspended ? !away : job->runs && !json_is_true(json_object_get(lease, "idle"));

    if (away && !*suspension && !(job->lent_to && *lease_text(lease, "not_suspended")))
        return "suspend";
    return back && !strcmp(suspension, "suspended") ? "resume" : NULL;
}

json_t *plan_suspensions(const struct slurm_settings *settings, const json_t *leases,
                         const struct job_table *jobs)
{
    json_t *orders = json_array();
    const json_t *lease;
    size_t i;

    json_array_foreach(leases, i, lease) {
        uint32_t id;
        time_t start;
        const struct live_job *job;
        const char *order;
        if (strcmp(lease_text(lease, "state"), "granted") ||
            !lease_key_parse(settings, lease_text(lease, "key"), &id, &start))
            continue;
        job = job_table_find(jobs, id);
        order = job ? order_for(jobs, job, lease) : NULL;
        if (order)
            json_array_append_new(orders, json_pack("{s:s, s:s}", "lease", lease_text(lease, "id"),
                                                    "order", order));
    }
    return orders;
}

json_t *plan_bare_jobs(const struct slurm_settings *settings, const json_t *leases,
                       const struct job_table *jobs)
{
    json_t *bare = json_array();

    for (size_t i = 0; i < jobs->count; i++) {
        const struct live_job *job = &jobs->jobs[i];
        if (job->live && job->asks && !has_lease(settings, leases, job->id, 0, true))
            json_array_append_new(bare, json_integer(job->id));
    }
    return bare;
}
