// SPDX-License-Identifier: GPL-2.0-or-later
// Preemption for remote GPUs.
#include "slurm-plugin/counts/preempt.h"

#include <stdlib.h>

#include "slurm-plugin/base/slurm_headers.h"

#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/base/job_order.h"
#include "slurm-plugin/base/lent.h"
#include "slurm-plugin/base/license_entries.h"

enum { VICTIMS_MAX = 1024 };

// The last chosen lenders and their borrowers. While one of them still has its GPUs, its lease is
// not yet released, or it is suspended and its GPUs are awaited, no other is chosen.
static struct {
    uint32_t preemptor;
    struct victim {
        uint32_t job;
        time_t start;
        bool has_lease; // by the broker's last answer
    } victims[VICTIMS_MAX];
    size_t count;
} last;

// The scheduler's locks.
static slurmctld_lock_t locks = {
    .conf = READ_LOCK, .job = WRITE_LOCK, .node = WRITE_LOCK, .part = READ_LOCK, .fed = READ_LOCK};

// ---- waiting jobs ----

// Finds the job that the scheduler would start next, if it waits for rgpu's licences and its nodes
// are available.
static int compare_waiting(void *x, void *argument)
{
    job_record_t *job = x, **first = argument;

    if (IS_JOB_PENDING(job) && job->priority && job->state_reason == WAIT_LICENSES &&
        job->part_ptr && job->part_ptr->node_bitmap && licenses_name_ours(job->licenses) &&
        (!*first || job_order_before(job, *first)))
        *first = job;
    return 0;
}

static bool has_nodes(const job_record_t *job)
{
    uint32_t wanted = job->details && job->details->min_nodes ? job->details->min_nodes : 1;

    return avail_node_bitmap &&
           (uint32_t)bit_overlap(avail_node_bitmap, job->part_ptr->node_bitmap) >= wanted;
}

// ---- whom it may preempt ----

// NULL: it has given its GPUs back.
static job_record_t *preempt_find_victim(const struct victim *victim)
{
    job_record_t *job = find_job_record(victim->job);

    return job && job->start_time == victim->start &&
                   (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) || IS_JOB_COMPLETING(job))
               ? job
               : NULL;
}

// Part of a heterogeneous job is not suspended alone.
static bool would_give(job_record_t *job)
{
    uint16_t mode = slurm_job_preempt_mode(job);

    return IS_JOB_RUNNING(job) && licenses_name_ours(job->licenses) &&
           (mode == PREEMPT_MODE_CANCEL || mode == PREEMPT_MODE_REQUEUE ||
            (mode == PREEMPT_MODE_SUSPEND && !job->het_job_id &&
             lent_may_ask(job->system_comment)));
}

// A job that may be preempted. Its loss is the GPU time since it started. A job that is suspended
// loses none of it, so its loss is the number of its GPUs. Of jobs of equal rank, those with the
// smallest loss are preempted first, then in Slurm's order.
struct candidate {
    const job_record_t *job;
    size_t place, rank; // in Slurm's order; jobs of one partition and QOS have one rank
    double loss;
};

struct candidates {
    struct candidate *list;
    size_t count;
};

static double loss_of(job_record_t *job)
{
    const licenses_t *gpus = license_entry_find(job->license_list, "rgpu");
    double count = gpus ? gpus->total : 1;

    return slurm_job_preempt_mode(job) == PREEMPT_MODE_SUSPEND
               ? count
               : difftime(time(NULL), job->start_time) * count;
}

static bool are_of_one_rank(const job_record_t *a, const job_record_t *b)
{
    uint32_t left = a->qos_ptr ? a->qos_ptr->priority : 0;
    uint32_t right = b->qos_ptr ? b->qos_ptr->priority : 0;

    return a->part_ptr == b->part_ptr && left == right;
}

static int preempt_add_candidate(void *x, void *argument)
{
    struct candidates *candidates = argument;
    job_record_t *job = x;
    struct candidate *entry = &candidates->list[candidates->count];

    if (!would_give(job))
        return 0;
    *entry = (struct candidate){.job = job, .place = candidates->count, .loss = loss_of(job)};
    if (candidates->count > 0)
        entry->rank = entry[-1].rank + !are_of_one_rank(entry[-1].job, job);
    candidates->count++;
    return 0;
}

static bool takes_youngest_first(void)
{
    return preempt_parameter("youngest_first") ||
           xstrcasestr(slurm_conf.sched_params, "preempt_youngest_first");
}

static int compare_losses(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->loss != right->loss)
        return left->loss < right->loss ? -1 : 1;
    return left->place < right->place ? -1 : 1;
}

static json_t *find_candidates(const struct slurm_settings *settings, job_record_t *job)
{
    slurm_list jobs = slurm_find_preemptable_jobs(job);
    struct candidates candidates = {
        .list = jobs ? calloc((size_t)list_count(jobs) + 1, sizeof(*candidates.list)) : NULL};
    json_t *keys = json_array();
    char key[LEASE_KEY_MAX];

    if (candidates.list) {
        list_for_each(jobs, preempt_add_candidate, &candidates);
        if (!takes_youngest_first())
            qsort(candidates.list, candidates.count, sizeof(*candidates.list), compare_losses);
    }
    for (size_t i = 0; i < candidates.count; i++) {
        const job_record_t *victim = candidates.list[i].job;
        lease_key(settings, victim->job_id, victim->start_time, key);
        json_array_append_new(keys, json_string(key));
    }
    free(candidates.list);
    if (jobs)
        FREE_NULL_LIST(jobs);
    return keys;
}

// ---- suspending and resuming ----

static bool suspend_or_resume(job_record_t *job, uint16_t operation)
{
    int error = suspend_or_resume_job(job->job_id, operation);

    if (error)
        info("job_submit/rgpu: %pJ cannot be %s: %s", job,
             operation == SUSPEND_JOB ? "suspended" : "resumed", slurm_strerror(error));
    return !error;
}

static void comment_on(job_record_t *job, const char *text)
{
    xfree(job->system_comment);
    job->system_comment = xstrdup(text);
    last_job_update = time(NULL);
}

static void lend(job_record_t *job, const job_record_t *borrower)
{
    char text[LENT_TEXT_MAX];

    if (!suspend_or_resume(job, SUSPEND_JOB))
        return;
    lent_text(borrower->job_id, text);
    comment_on(job, text);
}

static void take_from(job_record_t *job, job_record_t *preemptor)
{
    uint16_t mode = slurm_job_preempt_mode(job);

    if (mode == PREEMPT_MODE_SUSPEND)
        lend(job, preemptor);
    else
        slurm_job_preempt(job, preemptor, mode, false);
}

// Returns true while the job can use borrowed GPUs. When it ends, its GPUs go back to the lender,
// even if other GPUs are free.
static bool borrows(const job_record_t *job)
{
    return job && (IS_JOB_PENDING(job) ||
                   ((IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) && !IS_JOB_COMPLETING(job)));
}

bool preempt_lends(const struct job_record *job)
{
    uint32_t borrower = lent_to(job->system_comment);

    return IS_JOB_SUSPENDED(job) && (!borrower || borrows(find_job_record(borrower)));
}

static void preempt_go_on(job_record_t *job, const char *refusal)
{
    char text[LENT_TEXT_MAX];

    if (!suspend_or_resume(job, RESUME_JOB))
        return;
    info("job_submit/rgpu: %pJ has its GPUs and goes on", job);
    lent_refusal(refusal, text);
    comment_on(job, *refusal ? text : "");
}

struct lenders {
    const struct count *count;
    json_t *back; // ids of leases that are to return
};

// A resumed job no longer lends its GPUs.
static int look_at_lender(void *x, void *argument)
{
    struct lenders *lenders = argument;
    job_record_t *job = x;
    const struct count_lease *lease;
    uint32_t borrower;
    bool wanted;

    if (!IS_JOB_RUNNING(job) && !IS_JOB_SUSPENDED(job))
        return 0;
    borrower = lent_to(job->system_comment);
    if (!borrower)
        return 0;
    if (IS_JOB_RUNNING(job))
        xfree(job->system_comment);
    lease = IS_JOB_SUSPENDED(job) ? count_lease_of(lenders->count, job->job_id, job->start_time)
                                  : NULL;
    if (!lease)
        return 0;
    wanted = borrows(find_job_record(borrower));
    if (!lease->away && (!wanted || *lease->not_suspended))
        preempt_go_on(job, lease->not_suspended);
    else if (lease->away && !lease->returning && !wanted)
        json_array_append_new(lenders->back, json_string(lease->id));
    return 0;
}

void preempt_resume(struct broker_client *client, const struct count *count)
{
    struct lenders lenders = {.count = count, .back = json_array()};
    const json_t *id;
    size_t i;

    lock_slurmctld(locks);
    for (i = 0; i < last.count; i++)
        last.victims[i].has_lease =
            count_lease_of(count, last.victims[i].job, last.victims[i].start) != NULL;
    if (job_list)
        list_for_each(job_list, look_at_lender, &lenders);
    unlock_slurmctld(locks);
    json_array_foreach(lenders.back, i, id) {
        if (lease_order(client, json_string_value(id), "resume") < 0)
            info("job_submit/rgpu: %s", broker_client_error(client));
    }
    json_decref(lenders.back);
}

// ---- the question ----

// Jobs in their grace time are preempted again, as Slurm does, until it is over.
static bool last_is_under_way(void)
{
    job_record_t *preemptor, *job;
    bool any = false;

    if (last.count == 0) // a slurmctld that starts cannot find jobs yet
        return false;
    preemptor = find_job_record(last.preemptor);
    for (size_t i = 0; i < last.count; i++) {
        job = preempt_find_victim(&last.victims[i]);
        any |= !job && last.victims[i].has_lease;
        if (!job || (IS_JOB_SUSPENDED(job) && !(preemptor && IS_JOB_PENDING(preemptor))))
            continue;
        any = true;
        if (preemptor && IS_JOB_PENDING(preemptor) && would_give(job) && !IS_JOB_COMPLETING(job))
            take_from(job, preemptor);
    }
    return any;
}

static json_t *preempt_describe(const job_record_t *job)
{
    struct gpu_request request;
    const char *why;

    if (gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size, &request,
                          &why) < 0 ||
        request.per_node == 0)
        return NULL;
    return gpu_request_json(&request,
                            job->details && job->details->min_nodes ? job->details->min_nodes : 1);
}

bool preempt_ask(const struct slurm_settings *settings, json_t *question)
{
    job_record_t *first = NULL;
    json_t *keys = NULL, *request = NULL;

    // Slurm does it itself with this setting.
    if (preempt_parameter("reclaim_licenses"))
        return false;
    lock_slurmctld(locks);
    if (job_list && slurm_preemption_enabled() && !last_is_under_way()) {
        last.count = 0;
        list_for_each(job_list, compare_waiting, &first);
        if (first && has_nodes(first) && (request = preempt_describe(first))) {
            keys = find_candidates(settings, first);
            last.preemptor = first->job_id;
        }
    }
    unlock_slurmctld(locks);
    if (!json_array_size(keys)) {
        json_decref(keys);
        json_decref(request);
        return false;
    }
    json_object_set_new(question, "preempt",
                        json_pack("{s:o, s:o}", "request", request, "keys", keys));
    return true;
}

void preempt_answered(const struct slurm_settings *settings, const json_t *answer)
{
    const json_t *chosen = json_object_get(answer, "preempt"), *key;
    job_record_t *preemptor, *job;
    size_t i;

    if (!json_array_size(chosen))
        return;
    lock_slurmctld(locks);
    preemptor = find_job_record(last.preemptor);
    json_array_foreach(chosen, i, key) {
        struct victim victim;
        if (last.count == VICTIMS_MAX || !preemptor || !IS_JOB_PENDING(preemptor) ||
            !lease_key_parse(settings, json_string_value(key), &victim.job, &victim.start))
            continue;
        job = preempt_find_victim(&victim);
        if (!job || !would_give(job))
            continue;
        victim.has_lease = true;
        last.victims[last.count++] = victim;
        info("job_submit/rgpu: %pJ gives its GPUs to %pJ", job, preemptor);
        take_from(job, preemptor);
    }
    unlock_slurmctld(locks);
}
