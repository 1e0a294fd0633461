// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs whose GPUs are gone while they run.
#include "slurm-plugin/sync/sync_lost.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/json_list.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/sync/sync_slurm.h"

// Leases that have ended are listed newest first; one that ended since the last round is among
// these.
#define ENDED_PATH "/v1/leases?state=ended&limit=500"

static const json_t *find_by_key(const json_t *leases, const char *key)
{
    const json_t *lease;
    size_t i;

    json_array_foreach(leases, i, lease) {
        const char *its = json_string_value(json_object_get(lease, "key"));
        if (its && !strcmp(its, key))
            return lease;
    }
    return NULL;
}

// A lease that its user has released is not lost.
static const char *why_lost(const json_t *lease)
{
    const char *reason = json_string_value(json_object_get(lease, "reason"));

    return reason && strcmp(reason, "released") ? reason : NULL;
}

static enum lost_gpus sync_lost_choose(const struct slurm_settings *settings,
                                       const struct live_job *job)
{
    enum lost_gpus action = (enum lost_gpus)settings->lost_gpus;

    return action == LOST_REQUEUE && !job->can_requeue ? LOST_END : action;
}

static void tell_job(const struct live_job *job, enum lost_gpus action, const char *reason)
{
    static const char *const outcomes[] = {
        [LOST_REQUEUE] = "it goes back into the queue",
        [LOST_END] = "it is ended",
        [LOST_NOTIFY] = "it goes on without them",
    };
    char text[200];

    snprintf(text, sizeof(text), "rgpu: the job's remote GPUs were taken away (%.100s); %s", reason,
             outcomes[action]);
    log_info("job=%" PRIu32 " has lost its GPUs reason=\"%s\": %s", job->id, reason,
             outcomes[action]);
    sync_slurm_tell(job->id, text);
}

static void end_job(const struct live_job *job, enum lost_gpus action)
{
    if (action != LOST_NOTIFY && sync_slurm_end(job->id, action == LOST_REQUEUE) < 0)
        log_warn("job=%" PRIu32 " cannot be ended: %s", job->id, sync_slurm_error());
}

// Tells the job in one round and ends it in the next. slurmctld sends messages and signals at the
// same time, so the message would come too late for a job that is ended at once. NEXT receives what
// the next round has to know.
static void deal_with(const struct lost_jobs *lost, const struct slurm_settings *settings,
                      const struct live_job *job, const char *lease, const char *reason,
                      struct lost_jobs *next)
{
    enum lost_gpus action = sync_lost_choose(settings, job);
    bool told = json_list_has(lost->informed, lease);

    if (!told)
        tell_job(job, action, reason);
    else if (!json_list_has(lost->handled, lease))
        end_job(job, action);
    json_array_append_new(next->informed, json_string(lease));
    if (told)
        json_array_append_new(next->handled, json_string(lease));
}

// ---- boxes that are away ----

// Returns how long the box of a lease has been away, as far as this program has seen it.
static double away_for(const struct lost_jobs *lost, const char *id)
{
    const json_t *since = json_object_get(lost->away, id);

    return since ? clock_boot_seconds() - json_real_value(since) : 0;
}

static const char *away_box(const json_t *lease)
{
    const json_t *first = json_array_get(json_object_get(lease, "gpus"), 0);

    return lease_text(first, "box");
}

// Returns the leases in state "lost", each with the time when this program first saw it so.
static json_t *note_away(const struct lost_jobs *lost, const json_t *leases)
{
    json_t *away = json_object();
    const json_t *lease;
    size_t i;

    json_array_foreach(leases, i, lease) {
        const char *id = lease_text(lease, "id");
        if (!strcmp(lease_text(lease, "state"), "lost"))
            json_object_set_new(away, id, json_real(clock_boot_seconds() - away_for(lost, id)));
    }
    return away;
}

// Deals with jobs that have GPUs on a box that has been away for longer than `lost_after`.
static void deal_with_away(const struct lost_jobs *lost, const struct slurm_settings *settings,
                           const json_t *leases, const struct job_table *jobs,
                           struct lost_jobs *next)
{
    const json_t *lease;
    size_t i;

    json_array_foreach(leases, i, lease) {
        const char *id = lease_text(lease, "id");
        const struct live_job *job;
        char reason[200];
        uint32_t number;
        time_t start;
        if (settings->lost_after == 0 || !json_object_get(lost->away, id) ||
            away_for(lost, id) * 1e6 < (double)settings->lost_after ||
            !lease_key_parse(settings, lease_text(lease, "key"), &number, &start))
            continue;
        job = job_table_find(jobs, number);
        if (!job || !job->runs || job->start != start)
            continue;
        snprintf(reason, sizeof(reason), "box %.100s has been away for %.0f s", away_box(lease),
                 away_for(lost, id));
        deal_with(lost, settings, job, id, reason, next);
    }
}

int lost_jobs_round(struct lost_jobs *lost, const struct slurm_settings *settings,
                    struct broker_client *client, const json_t *leases,
                    const struct job_table *jobs)
{
    struct lost_jobs next = {.informed = json_array(), .handled = json_array()};
    json_t *bare = plan_bare_jobs(settings, leases, jobs), *answer = NULL;
    const json_t *entry;
    int error = 0;
    size_t i;

    if (json_array_size(bare) > 0)
        error = broker_client_call(client, "GET", ENDED_PATH, NULL, &answer);
    json_array_foreach(bare, i, entry) {
        const struct live_job *job = job_table_find(jobs, (uint32_t)json_integer_value(entry));
        const json_t *lease;
        char key[LEASE_KEY_MAX];
        const char *id;

        if (!job->runs)
            continue;
        lease_key(settings, job->id, job->start, key);
        lease = find_by_key(json_object_get(answer, "leases"), key);
        id = json_string_value(json_object_get(lease, "id"));
        if (!id || !why_lost(lease))
            continue;
        deal_with(lost, settings, job, id, why_lost(lease), &next);
    }
    json_t *away = note_away(lost, leases);
    json_decref(lost->away);
    lost->away = away;
    deal_with_away(lost, settings, leases, jobs, &next);
    json_decref(answer);
    json_decref(bare);
    next.away = lost->away;
    // Without an answer the other lists are kept as they were.
    if (error) {
        json_decref(next.informed);
        json_decref(next.handled);
        return error;
    }
    json_decref(lost->informed);
    json_decref(lost->handled);
    *lost = next;
    return 0;
}

void lost_jobs_clear(struct lost_jobs *lost)
{
    json_decref(lost->informed);
    json_decref(lost->handled);
    json_decref(lost->away);
    *lost = (struct lost_jobs){0};
}
