// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/broker/served_leases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "daemon/rgpud/workers/worker_process.h"

enum { RECLAIMS_AT_ONCE = 64, RECLAIM_BYTES = 256 << 10 }; // in one report

enum served_state {
    SERVED_KNOWN,  // the broker knows the lease, or its verdict is not needed
    SERVED_WANTED, // the next report reclaims it
    SERVED_SENT,   // the pending report reclaims it
    SERVED_REFUSED,
};

struct served_lease {
    TAILQ_ENTRY(served_lease) link;
    enum served_state state;
    char lease[TICKET_NAME_MAX];
    char *ticket; // header.payload; NULL: no ticket is known
    int64_t epoch, expires;
    char reason[256]; // of the refusal
};

struct served_leases {
    const struct box *box;
    TAILQ_HEAD(, served_lease) all;
};

struct served_leases *served_new(const struct box *box)
{
    struct served_leases *served = calloc(1, sizeof(*served));

    if (!served)
        return NULL;
    served->box = box;
    TAILQ_INIT(&served->all);
    return served;
}

static void served_remove(struct served_leases *served, struct served_lease *entry)
{
    TAILQ_REMOVE(&served->all, entry, link);
    free(entry->ticket);
    free(entry);
}

void served_free(struct served_leases **pointer)
{
    struct served_leases *served = *pointer;

    if (!served)
        return;
    while (!TAILQ_EMPTY(&served->all))
        served_remove(served, TAILQ_FIRST(&served->all));
    free(served);
    *pointer = NULL;
}

static struct served_lease *served_find(const struct served_leases *served, const char *lease)
{
    struct served_lease *entry;

    TAILQ_FOREACH(entry, &served->all, link)
        if (!strcmp(entry->lease, lease))
            return entry;
    return NULL;
}

static bool served_runs(const struct served_leases *served, const char *lease)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &served->box->workers, link)
        if (worker->session.id && !strcmp(worker->session.grant.lease, lease))
            return true;
    return false;
}

// A ticket that has expired opens no session.
static void served_trim(struct served_leases *served)
{
    struct served_lease *entry, *next;
    int64_t oldest = time(NULL) - (int64_t)(served->box->settings.clock_skew / 1000000);

    for (entry = TAILQ_FIRST(&served->all); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->expires < oldest && !served_runs(served, entry->lease))
            served_remove(served, entry);
    }
}

static struct served_lease *served_add(struct served_leases *served, const char *lease)
{
    struct served_lease *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;
    served_trim(served);
    snprintf(entry->lease, sizeof(entry->lease), "%s", lease);
    TAILQ_INSERT_TAIL(&served->all, entry, link);
    return entry;
}

void served_note(struct served_leases *served, const struct ticket *ticket, const char *text)
{
    struct served_lease *entry = served_find(served, ticket->lease);
    char *copy;

    if (entry && entry->ticket && entry->expires >= ticket->expires)
        return;
    copy = strdup(text);
    if (copy && !entry)
        entry = served_add(served, ticket->lease);
    if (!copy || !entry) {
        free(copy);
        return;
    }
    free(entry->ticket);
    entry->ticket = copy;
    entry->epoch = ticket->epoch;
    entry->expires = ticket->expires;
}

void served_forget(struct served_leases *served, const char *lease)
{
    struct served_lease *entry = served_find(served, lease);

    if (entry)
        served_remove(served, entry);
}

bool served_reclaim(struct served_leases *served, const char *lease)
{
    struct served_lease *entry = served_find(served, lease);

    if (entry && entry->state == SERVED_KNOWN)
        entry->state = SERVED_WANTED;
    return entry;
}

void served_reclaim_others(struct served_leases *served,
                           bool (*accepted)(void *argument, const char *lease, int64_t epoch),
                           void *argument)
{
    struct served_lease *entry;

    served_trim(served);
    TAILQ_FOREACH(entry, &served->all, link)
        entry->state = accepted(argument, entry->lease, entry->epoch) ? SERVED_KNOWN
                                                                      : SERVED_WANTED;
}

bool served_has_reclaims(const struct served_leases *served)
{
    const struct served_lease *entry;

    TAILQ_FOREACH(entry, &served->all, link)
        if (entry->state == SERVED_WANTED)
            return true;
    return false;
}

json_t *served_report(struct served_leases *served)
{
    json_t *list = json_array();
    struct served_lease *entry;
    size_t bytes = 0;

    TAILQ_FOREACH(entry, &served->all, link) {
        if (entry->state == SERVED_SENT) // the report before got no answer
            entry->state = SERVED_WANTED;
        if (entry->state != SERVED_WANTED || json_array_size(list) == RECLAIMS_AT_ONCE ||
            bytes > RECLAIM_BYTES)
            continue;
        bytes += entry->ticket ? strlen(entry->ticket) : 0;
        json_t *reclaim = json_pack("{s:s}", "lease", entry->lease);
        if (entry->ticket)
            json_object_set_new(reclaim, "ticket", json_string(entry->ticket));
        json_array_append_new(list, reclaim);
        entry->state = SERVED_SENT;
    }
    return list;
}

static void put_reason(struct served_lease *entry, const char *reason)
{
    snprintf(entry->reason, sizeof(entry->reason), "%s",
             reason ? reason : "it does not adopt leases");
    for (char *byte = entry->reason; *byte; byte++)
        if (*byte < ' ' || *byte > '~')
            *byte = '?';
}

void served_take_verdicts(struct served_leases *served, const json_t *verdicts,
                          void (*adopted)(void *argument, const char *lease), void *argument)
{
    struct served_lease *entry;

    TAILQ_FOREACH(entry, &served->all, link) {
        const json_t *verdict = json_object_get(verdicts, entry->lease);
        if (entry->state != SERVED_SENT)
            continue;
        if (json_is_true(verdict)) {
            log_info("lease=%s is adopted by the broker", entry->lease);
            entry->state = SERVED_KNOWN;
            adopted(argument, entry->lease);
        } else if (json_is_null(verdict)) {
            entry->state = SERVED_WANTED;
        } else {
            put_reason(entry, json_string_value(verdict));
            log_warn("lease=%s is refused by the broker reason=\"%s\"", entry->lease,
                     entry->reason);
            entry->state = SERVED_REFUSED;
        }
    }
}

void served_take_asked(struct served_leases *served, const json_t *asked)
{
    const json_t *name;
    size_t i;

    json_array_foreach(asked, i, name) {
        const char *lease = json_string_value(name);
        struct served_lease *entry = lease ? served_find(served, lease) : NULL;
        // The broker refuses a lease that is reclaimed without a ticket.
        if (lease && !entry && served_runs(served, lease))
            entry = served_add(served, lease);
        if (entry)
            entry->state = SERVED_WANTED;
    }
}

const char *served_refusal(const struct served_leases *served, const char *lease)
{
    const struct served_lease *entry = served_find(served, lease);

    return entry && entry->state == SERVED_REFUSED ? entry->reason : NULL;
}
