// SPDX-License-Identifier: BSD-3-Clause
// A bundle has one token for each box of the lease.
#include "broker/leases/tickets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "broker/leases/adoption.h"
#include "common/base/clock.h"
#include "common/base/scope.h"

static bool tickets_opens(const struct pool_lease *lease, const bool *chosen, size_t i)
{
    return hold_stands(&lease->holds[i]) && (!chosen || chosen[lease->holds[i].ordinal]);
}

static bool seen_before(const struct pool_lease *lease, const bool *chosen, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (tickets_opens(lease, chosen, j) && lease->holds[j].box == lease->holds[i].box)
            return true;
    return false;
}

// CONTEXTS receives the bytes of each GPU's context.
static void fill_ticket(const struct broker *broker, const struct pool_lease *lease,
                        const bool *chosen, const struct pool_box *box, int64_t until,
                        struct ticket *ticket, json_t *contexts)
{
    uint64_t number = 0;

    memset(ticket, 0, sizeof(*ticket));
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        abort();
    snprintf(ticket->id, sizeof(ticket->id), "T%016llx", (unsigned long long)number);
    strcpy(ticket->lease, lease->id);
    strcpy(ticket->box, box->name);
    strcpy(ticket->addresses, box->addresses);
    strcpy(ticket->job, lease->job);
    ticket->owner = lease->owner;
    ticket->protection = lease->request.privacy || broker->limits.privacy
                             ? CONTROL_PROTECTION_PRIVACY
                             : CONTROL_PROTECTION_AUTHENTICATE;
    ticket->issued = clock_wall_seconds();
    ticket->expires = until;
    ticket->epoch = broker->epoch;
    ticket->bandwidth = broker->limits.bandwidth;
    for (size_t i = 0; i < lease->hold_count; i++) {
        const struct pool_hold *hold = &lease->holds[i];
        struct ticket_gpu *gpu = &ticket->gpus[ticket->gpu_count];
        if (hold->box != box || !tickets_opens(lease, chosen, i))
            continue;
        strcpy(gpu->uuid, hold->gpu->uuid);
        gpu->index = hold->gpu->index;
        gpu->ordinal = hold->ordinal;
        gpu->mode = hold->mode == GPU_SHARED ? TICKET_SHARED : TICKET_EXCLUSIVE;
        gpu->memory = hold->memory;
        gpu->compute = hold->compute;
        json_array_append_new(contexts, json_integer((json_int_t)hold->context));
        ticket->gpu_count++;
    }
}

static enum outcome add_line(struct broker *broker, const struct pool_lease *lease,
                             const bool *chosen, const struct pool_box *box, int64_t until,
                             FILE *out)
{
    struct ticket_keyring ring;
    struct ticket ticket;
    SCOPED_FREE char *token = NULL, *terms = NULL;
    json_t *contexts = json_array();
    enum outcome error;

    fill_ticket(broker, lease, chosen, box, until, &ticket, contexts);
    terms = adoption_terms(broker, lease, contexts);
    if (!terms)
        return OUTCOME_NO_MEMORY;
    struct ticket_seal seal = {.cluster = &broker->keys, .terms = terms};
    ticket_keyring_derive(&broker->keys, box->name, &ring);
    error = outcome_of(ticket_issue(&ring, &ticket, &seal, &token));
    explicit_bzero(&ring, sizeof(ring));
    if (error)
        return error;
    fprintf(out, "%s %s %s\n", box->name, box->addresses, token);
    return OUTCOME_DONE;
}

enum outcome broker_write_ticket(struct broker *broker, const struct pool_lease *lease,
                                 const bool *chosen, int64_t until, char **bundle)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out;
    enum outcome error = OUTCOME_DONE;

    if (broker->keys.count == 0)
        return OUTCOME_NO_KEY;
    if (until > clock_wall_seconds() + broker->limits.max_ticket_seconds)
        return OUTCOME_TOO_LONG;
    out = open_memstream(&text, &size);
    if (!out)
        return OUTCOME_NO_MEMORY;
    for (size_t i = 0; !error && i < lease->hold_count; i++)
        if (tickets_opens(lease, chosen, i) && !seen_before(lease, chosen, i))
            error = add_line(broker, lease, chosen, lease->holds[i].box, until, out);
    if (fclose(out) != 0 && !error)
        error = OUTCOME_NO_MEMORY;
    if (error) {
        free(text);
        return error;
    }
    *bundle = text;
    return OUTCOME_DONE;
}

enum outcome broker_issue_ticket(struct broker *broker, struct pool_lease *lease,
                                 const bool *chosen, int64_t seconds, const char *actor,
                                 char **bundle)
{
    struct change change = {.kind = "ticket.issued", .actor = actor, .lease = lease};
    int64_t before = lease->ticket_until;
    int64_t until;
    enum outcome error;

    if (broker->keys.count == 0)
        return OUTCOME_NO_KEY;
    if (lease->state != LEASE_GRANTED && lease->state != LEASE_LOST)
        return OUTCOME_ENDED;
    if (seconds < 0 || seconds > broker->limits.max_ticket_seconds)
        return OUTCOME_TOO_LONG;
    until = clock_wall_seconds() + (seconds ? seconds : broker->limits.ticket_seconds);
    // Before any ticket is out, the database knows until when boxes must refuse it.
    if (until > before)
        lease->ticket_until = until;
    change.detail = json_pack("{s:I}", "until", (json_int_t)until);
    error = broker_save_lease(broker, &change);
    if (error) {
        lease->ticket_until = before;
        return error;
    }
    broker->counters.tickets++;
    return broker_write_ticket(broker, lease, chosen, until, bundle);
}
