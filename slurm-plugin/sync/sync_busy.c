// SPDX-License-Identifier: GPL-2.0-or-later
// See sync_busy.h.
#include "slurm-plugin/sync/sync_busy.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/sync/sync_accounting.h"

// In this order: events that are read at the start of the program, because leases may have ended
// without a note; events of one later answer; leases that wait for their note; leases of one
// question; rounds with an answer of slurmdbd after which a lease is given up; seconds until
// slurmdbd is queried again.
enum {
    LOOK_BACK = 199,
    PAGE = 200,
    ENDED_MAX = 10000,
    NAMED = 50,
    TRIES = 200,
    SILENT_SECONDS = 5
};

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

struct noting {
    const struct slurm_settings *settings;
    struct accounts *accounts; // opened for the first lease that has something to note
    bool none;                 // slurmdbd keeps no accounts for this cluster
};

static enum accounting_outcome note_lease(struct noting *noting, const json_t *lease)
{
    const struct busy_use use = {
        .seconds = json_real_value(json_object_get(lease, "busy_gpu_seconds")),
        .held = sync_busy_held_seconds(lease),
        .joules = json_real_value(json_object_get(lease, "energy_joules")),
    };
    uint32_t job;
    time_t start;

    if (!(use.seconds > 0) ||
        !lease_key_parse(noting->settings, lease_text(lease, "key"), &job, &start))
        return ACCOUNTING_DONE;
    if (!noting->accounts && !noting->none)
        noting->accounts = accounting_open(&noting->none);
    if (noting->none)
        return ACCOUNTING_DONE;
    return noting->accounts ? accounting_note_busy(noting->accounts, job, start, &use)
                            : ACCOUNTING_AWAY;
}

static void count_try(struct busy_jobs *busy, const char *id, enum accounting_outcome outcome)
{
    json_t *tries = json_object_get(busy->ended, id);

    json_integer_set(tries, json_integer_value(tries) - 1);
    if (outcome == ACCOUNTING_DONE || json_integer_value(tries) == 0)
        json_object_del(busy->ended, id);
}

// Returns the leases of at most NAMED ids from FIRST on, in their order, without those that the
// broker has forgotten.
static int fetch_named(struct broker_client *client, const json_t *ids, size_t first,
                       json_t **answer)
{
    char path[32 + NAMED * 64] = "/v1/leases?id=";
    size_t length = strlen(path);

    for (size_t i = first; i < json_array_size(ids) && i < first + NAMED; i++)
        length += (size_t)snprintf(path + length, sizeof(path) - length, "%.60s,",
                                   json_string_value(json_array_get(ids, i)));
    return broker_client_call(client, "GET", path, NULL, answer);
}

// Sets *SILENT if slurmdbd does not answer. Returns -errno of the broker.
static int note_named(struct busy_jobs *busy, struct broker_client *client, struct noting *noting,
                      const json_t *ids, size_t first, bool *silent)
{
    enum accounting_outcome outcome;
    const json_t *leases, *lease;
    const char *id;
    json_t *answer;
    size_t next = 0;
    int error = fetch_named(client, ids, first, &answer);

    if (error)
        return error;
    leases = json_object_get(answer, "leases");
    for (size_t i = first; !*silent && i < json_array_size(ids) && i < first + NAMED; i++) {
        id = json_string_value(json_array_get(ids, i));
        lease = json_array_get(leases, next);
        outcome = ACCOUNTING_DONE;
        if (!strcmp(lease_text(lease, "id"), id)) {
            outcome = note_lease(noting, lease);
            next++;
        }
        *silent = outcome == ACCOUNTING_AWAY;
        if (!*silent)
            count_try(busy, id, outcome);
    }
    json_decref(answer);
    return 0;
}

static int note_all(struct busy_jobs *busy, const struct slurm_settings *settings,
                    struct broker_client *client, bool *silent)
{
    struct noting noting = {.settings = settings};
    json_t *ids = json_array(), *tries;
    const char *id;
    int error = 0;

    json_object_foreach(busy->ended, id, tries)
        json_array_append_new(ids, json_string(id));
    for (size_t first = 0; !error && !*silent && first < json_array_size(ids); first += NAMED)
        error = note_named(busy, client, &noting, ids, first, silent);
    json_decref(ids);
    accounting_close(&noting.accounts);
    return error;
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
    bool more = true, silent = false;
    int error = 0;

    if (!busy->ended)
        busy->ended = json_object();
    while (!error && more)
        error = take_page(busy, client, &more);
    if (error || json_object_size(busy->ended) == 0 || clock_seconds() < busy->again)
        return error;
    error = note_all(busy, settings, client, &silent);
    sync_busy_tell(busy, silent);
    busy->again = silent ? clock_seconds() + SILENT_SECONDS : 0;
    return error;
}

void busy_jobs_clear(struct busy_jobs *busy)
{
    json_decref(busy->ended);
    busy->ended = NULL;
}
