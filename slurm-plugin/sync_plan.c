/* What rgpu-slurm-sync decides. */
#include "slurm-plugin/sync_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/lease.h"

/* ---- jobs ---- */

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

/* ---- leases ---- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static bool is_over(const json_t *lease)
{
    const char *state = text_of(lease, "state");

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
        if (!is_over(lease) && lease_key_parse(settings, text_of(lease, "key"), &job, &its_start) &&
            job == id && (any_start || its_start == start))
            return true;
    }
    return false;
}

static bool is_wanted(const struct slurm_settings *settings, const json_t *leases,
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
        if (!is_over(lease) && lease_key_parse(settings, text_of(lease, "key"), &job, &start) &&
            !is_wanted(settings, leases, jobs, job, start))
            json_array_append_new(orphans, json_string(text_of(lease, "id")));
    }
    return orphans;
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

/* ---- capacity ---- */

static int64_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static int64_t units(int64_t bytes, bool up)
{
    int64_t unit = (int64_t)GPU_SHARE_UNIT;

    return bytes <= 0 ? 0 : (bytes + (up ? unit - 1 : 0)) / unit;
}

static void add_free(const json_t *gpu, struct capacity *capacity)
{
    const char *state = text_of(gpu, "state");
    bool shared = !strcmp(text_of(gpu, "mode"), "shared");

    if (!shared && !strcmp(state, "free"))
        capacity->gpus++;
    else if (shared && (!strcmp(state, "free") || !strcmp(state, "used")))
        capacity->memory += units(number_of(gpu, "free") - number_of(gpu, "context"), false);
}

static void add_held(const json_t *lease, struct capacity *capacity)
{
    const json_t *hold;
    size_t i;

    json_array_foreach(json_object_get(lease, "gpus"), i, hold) {
        if (!strcmp(text_of(hold, "mode"), "shared"))
            capacity->memory += units(number_of(hold, "memory"), true);
        else
            capacity->gpus++;
    }
}

static bool counts_as_held(const struct slurm_settings *settings, const json_t *lease,
                           const struct job_table *jobs)
{
    const struct live_job *live;
    uint32_t job;
    time_t start;

    if (!lease_key_parse(settings, text_of(lease, "key"), &job, &start))
        return false;
    live = job_table_find(jobs, job);
    return !is_over(lease) || (live && live->live);
}

struct capacity plan_capacity(const struct slurm_settings *settings, const json_t *gpus,
                              const json_t *leases, const struct job_table *jobs)
{
    struct capacity capacity = {0};
    const json_t *entry;
    size_t i;

    json_array_foreach(gpus, i, entry)
        add_free(entry, &capacity);
    json_array_foreach(leases, i, entry)
        if (counts_as_held(settings, entry, jobs))
            add_held(entry, &capacity);
    return capacity;
}

void plan_parking(const struct capacity *total, const struct capacity *usable, char *text,
                  size_t size)
{
    int64_t gpus = total->gpus - usable->gpus, memory = total->memory - usable->memory;
    int used = 0;

    *text = '\0';
    if (gpus > 0)
        used = snprintf(text, size, "rgpu:%lld", (long long)gpus);
    if (memory > 0)
        snprintf(text + used, size - (size_t)used, "%srgpu_mem:%lld", used ? "," : "",
                 (long long)memory);
}
