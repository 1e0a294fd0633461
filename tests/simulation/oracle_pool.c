// SPDX-License-Identifier: BSD-3-Clause
// What the broker's memory promises, and what boxes run.
#include "tests/simulation/oracle_pool.h"

#include <stdlib.h>
#include <string.h>

#include "broker/pool/pool.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "tests/simulation/box_disk.h"
#include "tests/simulation/box_displaced.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/exhaustive.h"
#include "tests/simulation/oracle.h"

struct known_ticket {
    TAILQ_ENTRY(known_ticket) link;
    struct simulated_box *box;
    struct ticket ticket;
};

static TAILQ_HEAD(, known_ticket) tickets = TAILQ_HEAD_INITIALIZER(tickets);

// ---- the pool ----

struct sum {
    uint64_t bytes;
    uint32_t holders, exclusive;
};

// Boxes are called box00, box01 and so on.
static size_t place_of(const struct pool_gpu *gpu)
{
    return strtoul(gpu->box->name + 3, NULL, 10) * BOX_GPUS_MAX + gpu->index;
}

static uint32_t box_holders[BOXES_MAX];

static void add_hold(struct sum *sums, const struct pool_hold *hold, const struct pool_gpu *gpu)
{
    struct sum *sum = &sums[place_of(gpu)];

    box_holders[place_of(gpu) / BOX_GPUS_MAX]++;
    sum->holders++;
    sum->exclusive += hold->mode == GPU_EXCLUSIVE;
    if (hold->mode == GPU_SHARED)
        sum->bytes += hold->memory + hold->context;
    if (gpu->mode != hold->mode)
        world_broken("GPU %s of mode %s is held as %s", gpu->uuid, gpu_mode_names[gpu->mode],
                     gpu_mode_names[hold->mode]);
}

static void check_gpu(const struct pool_gpu *gpu, const struct sum *sum)
{
    if (sum->exclusive > 1 || (sum->exclusive && sum->holders > 1))
        world_broken("GPU %s is granted twice: %u holders, %u exclusive", gpu->uuid, sum->holders,
                     sum->exclusive);
    if (sum->bytes > gpu_promised_bytes(gpu))
        world_broken("GPU %s: %llu of %llu bytes are promised", gpu->uuid,
                     (unsigned long long)sum->bytes, (unsigned long long)gpu_promised_bytes(gpu));
    if (sum->holders != gpu->holders || sum->bytes != gpu->used)
        world_broken("GPU %s has %u holders of %llu bytes, its books say %u of %llu", gpu->uuid,
                     sum->holders, (unsigned long long)sum->bytes, gpu->holders,
                     (unsigned long long)gpu->used);
}

void oracle_check_pool(const struct pool *pool)
{
    static struct sum sums[BOXES_MAX * BOX_GPUS_MAX];
    const struct pool_lease *lease;

    memset(sums, 0, sizeof(sums));
    memset(box_holders, 0, sizeof(box_holders));
    TAILQ_FOREACH(lease, &pool->leases, all)
        for (size_t i = 0; i < lease->hold_count; i++) {
            const struct pool_hold *hold = &lease->holds[i];
            if (hold->held && lease->state == LEASE_QUEUED)
                world_broken("lease %s waits and holds GPU %s", lease->id, hold->gpu->uuid);
            if (hold->held)
                add_hold(sums, hold, hold->gpu);
            if (hold->held && hold->target)
                add_hold(sums, hold, hold->target);
        }
    for (size_t i = 0; i < pool->box_count; i++) {
        const struct pool_box *box = pool->boxes[i];
        if (box->gpu_count && box->holders != box_holders[place_of(box->gpus[0]) / BOX_GPUS_MAX])
            world_broken("box %s has %u holders by its books", box->name, box->holders);
        for (uint32_t j = 0; j < box->gpu_count; j++)
            check_gpu(box->gpus[j], &sums[place_of(box->gpus[j])]);
    }
}

void oracle_check_free(const struct pool *pool)
{
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++)
            if (pool->boxes[i]->gpus[j]->holders)
                world_broken("GPU %s is left over", pool->boxes[i]->gpus[j]->uuid);
}

// ---- tickets ----

static bool is_on(const struct simulated_box *box, const struct ticket *ticket, size_t number,
                  const char *uuid)
{
    const struct ticket_gpu *gpu = &ticket->gpus[number];

    return !strcmp(box_place_of(box, ticket->lease, gpu->ordinal, gpu->uuid), uuid);
}

bool oracle_tickets_exclude(const struct simulated_box *box, const struct ticket *a,
                            const struct ticket *b)
{
    for (size_t i = 0; i < a->gpu_count; i++) {
        const struct ticket_gpu *gpu = &a->gpus[i];
        const char *uuid = box_place_of(box, a->lease, gpu->ordinal, gpu->uuid);
        for (size_t j = 0; j < b->gpu_count; j++)
            if (is_on(box, b, j, uuid) &&
                (gpu->mode == TICKET_EXCLUSIVE || b->gpus[j].mode == TICKET_EXCLUSIVE))
                return true;
    }
    return false;
}

// A suspended lease has tickets and no GPU, which its box learns with the next answer.
static bool is_displaced(const char *lease)
{
    const struct server *server = broker_process();
    const struct pool_lease *known = server ? pool_find_lease(server->broker->pool, lease) : NULL;

    return known && known->suspension != LEASE_HERE;
}

// The box has registered in the broker's epoch, and has the answer.
static bool is_known(const struct broker *broker, const struct simulated_box *box)
{
    const struct pool_box *known = pool_find_box(broker->pool, box->host.name);
    struct broker_contact contact = {0};

    if (box->box)
        broker_agent_contact(box->box, &contact);
    return contact.registered && known && known->epoch == broker->epoch &&
           box_disk_epoch(box) == broker->epoch;
}

// The broker's promises do not hold for the box: the lease was suspended, or the box does not know
// yet that the database was restored, or that leases have ended by an administrator's word.
static bool is_excused(const struct simulated_box *box, const char *lease)
{
    const struct server *server = broker_process();

    return is_displaced(lease) || (server && !is_known(server->broker, box));
}

static void drop_ticket(struct known_ticket *known)
{
    TAILQ_REMOVE(&tickets, known, link);
    free(known);
}

static void check_against(struct known_ticket *fresh)
{
    struct known_ticket *known, *next;

    if (!broker_process_knows_its_loss())
        return;
    for (known = TAILQ_FIRST(&tickets); known; known = next) {
        next = TAILQ_NEXT(known, link);
        if (known == fresh || known->box != fresh->box)
            continue;
        if (known->ticket.expires < world_wall_seconds() - 120) {
            drop_ticket(known);
            continue;
        }
        if (strcmp(known->ticket.lease, fresh->ticket.lease) &&
            oracle_tickets_exclude(known->box, &known->ticket, &fresh->ticket) &&
            box_would_accept(known->box, &known->ticket) &&
            box_would_accept(fresh->box, &fresh->ticket) &&
            !is_excused(known->box, known->ticket.lease) &&
            !is_excused(fresh->box, fresh->ticket.lease))
            world_broken("box %s accepts tickets of leases %s and %s for one GPU",
                         known->box->host.name, known->ticket.lease, fresh->ticket.lease);
    }
}

void oracle_ticket(const struct ticket_entry *entry)
{
    struct known_ticket *known = calloc(1, sizeof(*known));
    struct ticket_check check = {.box = entry->box};
    struct ticket_keyring ring;
    uint8_t secret[SHA256_SIZE];

    if (!known)
        abort();
    known->box = box_with_name(entry->box);
    if (!known->box)
        world_broken("a ticket is for box %s, which does not exist", entry->box);
    ring = box_keys(known->box);
    check.ring = &ring;
    exhaustive_hold(true);
    if (ticket_recompute(&check, entry->token, entry->public_size, secret, &known->ticket) ||
        strcmp(known->ticket.box, entry->box))
        world_broken("box %s cannot verify its ticket", entry->box);
    exhaustive_hold(false);
    TAILQ_INSERT_TAIL(&tickets, known, link);
    check_against(known);
}

void oracle_check_tickets(const struct broker *broker)
{
    const struct known_ticket *known;
    const struct pool_lease *lease;

    if (!broker_process_knows_its_loss())
        return;
    TAILQ_FOREACH(known, &tickets, link) {
        lease = pool_find_lease(broker->pool, known->ticket.lease);
        if (lease && lease->epoch == broker->epoch && known->ticket.epoch == broker->epoch &&
            lease->ticket_until < known->ticket.expires)
            world_broken("a ticket of lease %s can be used for longer than the broker knows",
                         lease->id);
    }
}

// After a restore the broker may have granted a lease other GPUs before a box of the old ones
// registers. The broker refuses that box's sessions, and the box ends them.
void oracle_look_for_sessions(const struct broker *broker, const char *lease)
{
    struct known_ticket *known, *next;

    if (!broker_process_knows_its_loss())
        return;
    for (known = TAILQ_FIRST(&tickets); known; known = next) {
        next = TAILQ_NEXT(known, link);
        if (strcmp(known->ticket.lease, lease))
            continue;
        if (!is_known(broker, known->box))
            continue;
        if (box_would_accept(known->box, &known->ticket))
            world_broken("lease %s has ended, and box %s accepts its ticket", lease,
                         known->box->host.name);
        drop_ticket(known);
    }
    for (unsigned i = 0; i < box_count; i++) {
        const struct worker_process *worker;
        // A box that runs what the broker does not know there is to end it, and gets no grants.
        if (boxes[i].box && is_known(broker, &boxes[i]) &&
            pool_find_box(broker->pool, boxes[i].host.name)->settled)
            TAILQ_FOREACH(worker, &boxes[i].box->workers, link)
                if (!strcmp(worker->session.grant.lease, lease) && worker->state != WORKER_ENDING)
                    world_broken("lease %s has ended, and box %s runs a session of it", lease,
                                 boxes[i].host.name);
    }
}

// ---- sessions ----

void oracle_session_begun(struct simulated_box *box, struct simulated_session *session)
{
    world_trace("a session of lease %s begins", session->ticket.lease);
    (void)box;
}

void oracle_session_ended(struct simulated_box *box, struct simulated_session *session)
{
    world_trace("a session of lease %s ends at %s", session->ticket.lease, box->host.name);
}

void oracle_conflict(const struct simulated_box *box, const struct ticket *ticket,
                     const char *other)
{
    if (!is_excused(box, ticket->lease) && !is_excused(box, other) &&
        broker_process_knows_its_loss())
        world_broken("box %s is to run lease %s on a GPU on which lease %s runs", box->host.name,
                     ticket->lease, other);
}

const char *oracle_lease_beside(const struct simulated_box *box, const char *lease)
{
    const struct worker_process *own, *other;

    TAILQ_FOREACH(own, &box->box->workers, link) {
        const struct ticket *ticket = &((const struct simulated_session *)own)->ticket;
        if (strcmp(ticket->lease, lease))
            continue;
        TAILQ_FOREACH(other, &box->box->workers, link)
            if (strcmp(other->session.grant.lease, lease) && !box_session_is_off(box, other) &&
                oracle_tickets_exclude(box, ticket,
                                       &((const struct simulated_session *)other)->ticket))
                return other->session.grant.lease;
    }
    return NULL;
}
