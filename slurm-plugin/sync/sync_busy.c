// SPDX-License-Identifier: GPL-2.0-or-later
// See sync_busy.h.
#include "slurm-plugin/sync/sync_busy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/sync/sync_accounting.h"

// In this order: events that are read at the start of the program, because leases may have ended
// without a note; events of one later answer; leases that wait for their note; rounds with an
// answer of slurmdbd after which a lease is given up; seconds until slurmdbd is queried again.
enum { LOOK_BACK = 199, PAGE = 200, ENDED_MAX = 10000, TRIES = 200, SILENT_SECONDS = 5 };

// ---- leases that have ended ----

static void sync_busy_take_event(struct busy_jobs *busy, const json_t *event)
{
    busy->last = json_integer_value(json_object_get(event, "sequence"));
    if (!strcmp(lease_text(event, "kind"), "lease.ended") &&
        json_object_size(busy->ended) < ENDED_MAX)
        json_object_set_new(busy->ended, lease_text(event, "lease"), json_integer(TRIES));
}

static int take_page(struct busy_jobs *busy, struct broker_client *client, bool *more)
{
    json_t *answer;
    const json_t *event;
    char path[96];
    size_t i;
    int error;

    snprintf(path, sizeof(path), "/v1/events?after=%lld&limit=%d",
             busy->began ? (long long)busy->last : -1LL - LOOK_BACK, PAGE);
    error = broker_client_call(client, "GET", path, NULL, &answer);
    if (error)
        return error;
    json_array_foreach(json_object_get(answer, "events"), i, event)
        sync_busy_take_event(busy, event);
    *more = json_array_size(json_object_get(answer, "events")) == PAGE;
    // A broker whose database was replaced starts with lower event numbers.
    if (json_integer_value(json_object_get(answer, "last")) < busy->last)
        busy->last = json_integer_value(json_object_get(answer, "last"));
    busy->began = true;
    json_decref(answer);
    return 0;
}

// ---- noting ----

// The seconds for which the lease had its GPUs, of all of them.
static double sync_busy_held_seconds(const json_t *lease)
{
    json_int_t from = json_integer_value(json_object_get(lease, "granted"));
    json_int_t to = json_integer_value(json_object_get(lease, "ended"));

    return from && to > from ? (double)(to - from) * json_array_size(json_object_get(lease, "gpus"))
                             : 0;
}

// Notes one lease; returns -errno of the broker, but 0 for a lease that it has forgotten.
static int note_lease(const struct slurm_settings *settings, struct broker_client *client,
                      const struct accounts *accounts, const char *id,
                      enum accounting_outcome *outcome)
{
    char path[128];
    json_t *answer, *lease;
    struct busy_use use;
    uint32_t job;
    time_t start;
    int error;

    *outcome = ACCOUNTING_DONE;
    snprintf(path, sizeof(path), "/v1/leases/%.60s", id);
    error = broker_client_call(client, "GET", path, NULL, &answer);
    if (error)
        return error == -ENOENT ? 0 : error;
    lease = json_object_get(answer, "lease");
    use = (struct busy_use){
        .seconds = json_real_value(json_object_get(lease, "busy_gpu_seconds")),
        .held = sync_busy_held_seconds(lease),
        .joules = json_real_value(json_object_get(lease, "energy_joules")),
    };
    if (use.seconds > 0 && lease_key_parse(settings, lease_text(lease, "key"), &job, &start))
        *outcome = accounting_note_busy(accounts, job, start, &use);
    json_decref(answer);
    return 0;
}

static int note_all(struct busy_jobs *busy, const struct slurm_settings *settings,
                    struct broker_client *client, const struct accounts *accounts, bool *silent)
{
    enum accounting_outcome outcome;
    const char *id;
    json_t *tries;
    void *next;
    int error;

    json_object_foreach_safe(busy->ended, next, id, tries)
    {
        error = note_lease(settings, client, accounts, id, &outcome);
        *silent = outcome == ACCOUNTING_AWAY;
        if (error || *silent)
            return error;
        json_integer_set(tries, json_integer_value(tries) - 1);
        if (outcome == ACCOUNTING_DONE || json_integer_value(tries) == 0)
            json_object_del(busy->ended, id);
    }
    return 0;
}

static void sync_busy_tell(struct busy_jobs *busy, bool silent)
{
    if (silent != busy->silent)
        log_info("slurmdbd %s",
                 silent ? "does not answer: busy times of jobs are noted later" : "answers again");
    busy->silent = silent;
}

int busy_jobs_round(struct busy_jobs *busy, const struct slurm_settings *settings,
                    struct broker_client *client)
{
    struct accounts *accounts;
    bool more = true, none = false, silent;
    int error = 0;

    if (!busy->ended)
        busy->ended = json_object();
    while (!error && more)
        error = take_page(busy, client, &more);
    if (error || json_object_size(busy->ended) == 0 || clock_seconds() < busy->again)
        return error;
    accounts = accounting_open(&none);
    silent = !accounts && !none;
    if (accounts)
        error = note_all(busy, settings, client, accounts, &silent);
    if (none)
        json_object_clear(busy->ended);
    accounting_close(&accounts);
    sync_busy_tell(busy, silent);
    busy->again = silent ? clock_seconds() + SILENT_SECONDS : 0;
    return error;
}

void busy_jobs_clear(struct busy_jobs *busy)
{
    json_decref(busy->ended);
    busy->ended = NULL;
}
