// SPDX-License-Identifier: GPL-2.0-or-later
// See waiting_jobs.h.
#include "slurm-plugin/counts/waiting_jobs.h"

#include "slurm-plugin/base/job_order.h"
#include "slurm-plugin/base/license_entries.h"
#include "slurm-plugin/counts/wanted_classes.h"

static uint32_t nodes_of(const job_record_t *job)
{
    return job->details && job->details->min_nodes ? job->details->min_nodes : 1;
}

static void give_license(job_record_t *job, const char *name, uint32_t count)
{
    license_entry_take(job, name, count);
    xstrfmtcat(job->licenses, "%s%s:%u", job->licenses ? "," : "", name, count);
}

// Counts the class of a job that waits. slurmctld drops licences that slurm.conf does not name from
// its jobs when it starts, and earlier releases gave a class another name. Returns true for a new
// class.
static bool restore_class(job_record_t *job)
{
    struct gpu_request request;
    const char *why;
    char name[GPU_CLASS_MAX], own[GPU_CLASS_MAX], ours[GPU_LICENSES_MAX];
    bool is_new = false;

    if (job->spank_job_env_size == 0 || !job->license_list ||
        gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size, &request,
                          &why) < 0)
        return false;
    gpu_request_class(&request, nodes_of(job), name);
    if (!*name || !wanted_add(&request, nodes_of(job), job->user_id, &is_new))
        return false;
    license_entry_ensure(name);
    gpu_class_in(job->licenses, own);
    if (strcmp(own, name) != 0 &&
        gpu_request_licenses(&request, nodes_of(job), ours, sizeof(ours)) == 0)
        (void)license_text_set(&job->licenses, ours);
    return is_new;
}

// A job that waits asks for one of its own class, or for as many of any GPUs as it wants. A job
// that has run before still has what it took of all classes.
static void ask_for_own(job_record_t *job, struct class_takes *takes)
{
    const licenses_t *gpus = license_entry_find(job->license_list, "rgpu");
    const struct count_class *class;
    char own[GPU_CLASS_MAX];

    gpu_class_in(job->licenses, own);
    if (!*own && gpus)
        strcpy(own, GPU_CLASS_ANY);
    if (!wanted_has(own)) // backfill ends slurmctld at a licence that is in no list but a job's
        *own = '\0';
    license_entries_keep(job, own);
    if (*own)
        license_entry_take(job, own, strcmp(own, GPU_CLASS_ANY) != 0 ? 1 : gpus->total);
    class = count_find(takes->count, own);
    if (class && job_order_waits(job))
        takes->waiting[class - takes->count->classes] = true;
}

// A part of a heterogeneous job whose licences could not be given at its submission.
static void count_part(job_record_t *job)
{
    struct gpu_request request;
    const char *why;
    char ours[GPU_LICENSES_MAX], *position = NULL;

    if (!job->het_job_id || job->het_job_offset == 0 || licenses_name_ours(job->licenses) ||
        gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size, &request,
                          &why) < 0 ||
        request.per_node == 0 ||
        gpu_request_licenses(&request, nodes_of(job), ours, sizeof(ours)) < 0)
        return;
    for (char *entry = strtok_r(ours, ",", &position); entry;
         entry = strtok_r(NULL, ",", &position)) {
        char *colon = strchr(entry, ':');
        *colon = '\0';
        give_license(job, entry, (uint32_t)strtoul(colon + 1, NULL, 10));
    }
}

// Its user may change and release it.
static void waiting_hold(job_record_t *job, const char *why)
{
    info("job_submit/rgpu: %pJ is held: %s", job, why);
    job->priority = 0;
    job->state_reason = WAIT_HELD_USER;
    xfree(job->state_desc);
    job->state_desc = xstrdup(why);
    if (!job->system_comment || !xstrncmp(job->system_comment, "rgpu: ", 6)) {
        xfree(job->system_comment);
        job->system_comment = xstrdup(why);
    }
    last_job_update = time(NULL);
}

struct waiting {
    struct count *count;
    bool never;
    uint64_t gpus; // whole ones that it asks for
};

static int look_at_entry(void *x, void *argument)
{
    const licenses_t *entry = x;
    struct waiting *waiting = argument;
    const struct count_class *answered = count_find(waiting->count, entry->name);

    if (!strcmp(entry->name, "rgpu"))
        waiting->gpus = entry->total;
    waiting->never |= answered && !answered->possible;
    return 0;
}

static void look_at_waiting(job_record_t *job, const struct class_takes *takes)
{
    struct waiting waiting = {.count = takes->count};
    uint64_t there = takes->known;
    char why[160];

    list_for_each(job->license_list, look_at_entry, &waiting);
    if (there && waiting.gpus > there) {
        snprintf(why, sizeof(why), "rgpu: the job asks for %llu GPUs, and the pool has %llu",
                 (unsigned long long)waiting.gpus, (unsigned long long)there);
        waiting_hold(job, why);
    } else if (there && waiting.never) {
        waiting_hold(job, "rgpu: no set of GPUs in this pool could ever satisfy the request");
    }
}

// Slurm keeps a requeued job back for as long as credentials of its start are valid, by preset two
// minutes. A job that was requeued because it got no GPUs has run nothing, and may start as soon as
// new credentials differ from the old ones. A later time is its user's.
static void bring_forward(job_record_t *job)
{
    enum { RETRY_SECONDS = 3, OF_USER_SECONDS = 1800 };
    time_t now = time(NULL), *begin = job->details ? &job->details->begin_time : NULL;

    if (!begin || *begin <= now + RETRY_SECONDS || *begin > now + OF_USER_SECONDS ||
        job->restart_cnt == 0 || xstrncmp(job->system_comment, "rgpu: ", 6) != 0)
        return;
    *begin = now + RETRY_SECONDS;
    last_job_update = now;
}

void waiting_job_restore(job_record_t *job)
{
    license_take_back(job);
    count_part(job);
}

bool waiting_job_ask(job_record_t *job, struct class_takes *takes)
{
    bool is_new = restore_class(job);

    ask_for_own(job, takes);
    bring_forward(job);
    if (job->priority)
        look_at_waiting(job, takes);
    return is_new;
}

// The scheduler stops at the first job that waits for licences, and leaves those after it without a
// reason.
static int give_reason(void *x, void *first)
{
    job_record_t *job = x;

    if (job != first && job->state_reason == WAIT_NO_REASON && job_order_waits(job) &&
        licenses_name_ours(job->licenses)) {
        job->state_reason = WAIT_PRIORITY;
        last_job_update = time(NULL);
    }
    return 0;
}

void waiting_jobs_give_reasons(void)
{
    list_for_each(job_list, give_reason, job_order_first());
}
