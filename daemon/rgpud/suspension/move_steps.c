// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/move_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "daemon/rgpud/workers/exclusion.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/suspension/lease_places.h"
#include "daemon/rgpud/suspension/suspension.h"
#include "daemon/rgpud/workers/worker_process.h"

// ---- locations and targets ----

bool move_is_of(const struct worker_process *worker, const char *lease)
{
    return worker->state == WORKER_SERVING && worker->session.id &&
           !strcmp(worker->session.grant.lease, lease);
}

static struct box_device *target(const struct worker_process *worker, uint32_t i)
{
    const struct session_grant *grant = &worker->session.grant;

    return places_device(worker->box, grant->lease, grant->ordinals[i], grant->named[i]);
}

static bool move_steps_is_elsewhere(const struct worker_process *worker)
{
    for (uint32_t i = 0; i < worker->session.grant.device_count; i++)
        if (worker->session.grant.devices[i] != target(worker, i))
            return true;
    return false;
}

bool move_is_pending(const struct box *box, const char *lease)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (move_is_of(worker, lease) && move_steps_is_elsewhere(worker))
            return true;
    return false;
}

struct box_device *move_place_now(const struct box *box, const char *lease, uint32_t ordinal)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct session_grant *grant = &worker->session.grant;
        for (uint32_t i = 0; move_is_of(worker, lease) && i < grant->device_count; i++)
            if (grant->ordinals[i] == ordinal)
                return grant->devices[i];
    }
    return NULL;
}

// ---- free memory ----

static const char *in_use(const struct worker_process *worker, char *text, size_t room)
{
    struct session_grant grant = worker->session.grant;

    for (uint32_t i = 0; i < grant.device_count; i++)
        grant.devices[i] = target(worker, i);
    const struct worker_process *other = exclusion_find(worker->box, &grant);
    if (!other)
        return NULL;
    snprintf(text, room,
             "its GPU is in use by another lease (%.120s), beside which it cannot be used",
             other->session.grant.lease);
    return text;
}

// Returns the bytes that suspended workers had at the last reading. The figures still include them.
static uint64_t left_since(const struct box *box, uint32_t index)
{
    const struct worker_process *worker;
    uint64_t bytes = 0;

    TAILQ_FOREACH(worker, &box->workers, link) {
        uint64_t rest = worker->device == &box->devices[index] ? worker->pause.rest : 0;
        if (worker->pause.away && worker->driver_bytes[index] > rest)
            bytes += worker->driver_bytes[index] - rest;
    }
    return bytes;
}

// Returns the reason that a GPU lacks memory, or NULL. Driver 580 loses a process that is restored
// without enough memory, so the box does not try.
static const char *too_full(const struct box *box, const uint64_t needed[BOX_DEVICES_MAX])
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        const struct box_device *device = &box->devices[i];
        if (needed[i] && device->library_memory &&
            figures_taken(device) + needed[i] + SUSPENSION_SPARE_BYTES >
                device->library_memory + left_since(box, i))
            return "the memory of its GPU is taken";
    }
    return NULL;
}

const char *move_obstacle(const struct suspension *s, const uint64_t needed[BOX_DEVICES_MAX],
                          char *text, size_t room)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    const struct box_device *first = s->box->devices;
    uint64_t there[BOX_DEVICES_MAX] = {0};
    size_t to[BOX_DEVICES_MAX];
    const char *why = NULL;

    for (uint32_t i = 0; i < s->box->device_count; i++)
        to[i] = i;
    for (size_t i = 0; i < count && !why; i++) {
        for (uint32_t j = 0; j < list[i]->session.grant.device_count; j++)
            to[list[i]->session.grant.devices[j] - first] = (size_t)(target(list[i], j) - first);
        why = in_use(list[i], text, room);
    }
    for (uint32_t i = 0; i < s->box->device_count; i++)
        there[to[i]] += needed[i];
    return why ? why : too_full(s->box, there);
}

// ---- the move ----

void move_name_gpus(struct worker_process *worker, struct spawner_order *order)
{
    const struct session_grant *grant = &worker->session.grant;

    for (uint32_t i = 0; i < grant->device_count; i++) {
        struct spawner_pair *pair = &order->pairs[order->pair_count];
        worker->going[i] = target(worker, i);
        if (worker->going[i] == grant->devices[i])
            continue;
        memcpy(pair->from, grant->devices[i]->info.uuid, sizeof(pair->from));
        memcpy(pair->to, worker->going[i]->info.uuid, sizeof(pair->to));
        order->pair_count++;
    }
}

static void move_steps_tell(struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    struct control_moved moved = {.gpus_count = grant->device_count};

    for (uint32_t i = 0; i < grant->device_count; i++)
        moved.gpus[i].ordinal = grant->devices[i]->ordinal;
    if (control_send_packet(worker->control_fd, CONTROL_MOVED, &moved, -1))
        worker_process_kill(worker, "does not hear that it has been moved");
}

void move_arrived(struct worker_process *worker)
{
    struct session_grant *grant = &worker->session.grant;

    worker_process_count(worker, -1);
    for (uint32_t i = 0; i < grant->device_count; i++) {
        struct box_device *from = grant->devices[i], *to = worker->going[i];
        if (from == to)
            continue;
        log_info("session=%llu lease=%s has moved from gpu=%s to gpu=%s",
                 (unsigned long long)worker->session.id, grant->lease, from->uuid, to->uuid);
        from->sessions--;
        to->sessions++;
        grant->devices[i] = to;
    }
    worker->has_moved = true;
    worker->device = grant->devices[0];
    worker->sees |= device_set_of(grant);
    worker_process_count(worker, 1);
    move_steps_tell(worker);
}

bool move_give_up(struct suspension *s, const char *why)
{
    bool any = false;

    if (!*s->lease || !move_is_pending(s->box, s->lease))
        return false;
    for (struct lease_place *p = places_next(s->box, NULL); p; p = places_next(s->box, p))
        if (!strcmp(p->lease, s->lease) && p->device && p->device != p->before &&
            move_place_now(s->box, p->lease, p->ordinal) != p->device) {
            places_fail(s->box, p, why);
            any = true;
        }
    return any;
}
