// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/box_displaced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/rgpud/sharing/moves.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "tests/simulation/oracle.h"

struct displaced {
    TAILQ_ENTRY(displaced) link;
    struct simulated_box *box;
    unsigned life;
    char lease[128];
    bool away_wanted, away, idle, calls;
    bool reported, given; // as in struct suspension
    const char *reason;   // why it could not be suspended
};

struct place {
    TAILQ_ENTRY(place) link;
    struct simulated_box *box;
    char lease[128], gpu[48], wanted[48], refused[48];
    uint32_t ordinal;
    bool done, may_refuse;
};

static TAILQ_HEAD(, displaced) displaced = TAILQ_HEAD_INITIALIZER(displaced);
static TAILQ_HEAD(, place) places = TAILQ_HEAD_INITIALIZER(places);

static struct displaced *find(const struct simulated_box *box, const char *lease)
{
    struct displaced *entry;

    TAILQ_FOREACH(entry, &displaced, link)
        if (entry->box == box && !strcmp(entry->lease, lease))
            return entry;
    return NULL;
}

bool box_is_suspended(const struct simulated_box *box, const char *lease)
{
    const struct displaced *entry = find(box, lease);

    return entry && (entry->away || entry->away_wanted);
}

bool box_session_is_off(const struct simulated_box *box, const struct worker_process *worker)
{
    return ((const struct simulated_session *)worker)->off ||
           box_is_suspended(box, worker->session.grant.lease);
}

static void changed(struct simulated_box *box)
{
    box->box->suspension_changes++;
    box_changed(box->box);
}

static void drop(struct displaced *entry)
{
    TAILQ_REMOVE(&displaced, entry, link);
    free(entry);
}

// ---- suspending ----

// The name again, as the entry may be gone by now.
struct step {
    struct simulated_box *box;
    char lease[128];
    unsigned tries; // returns that another lease on the GPUs has held up
};
enum { RETURN_TRIES_MAX = 60 };

static void plan_step(struct simulated_box *box, const char *lease, world_event *function)
{
    struct step *step = calloc(1, sizeof(*step));

    if (!step)
        abort();
    step->box = box;
    snprintf(step->lease, sizeof(step->lease), "%s", lease);
    world_after(&box->host, dice_between(&box->dice, 10 * MS, 3 * SECOND), function, step);
}

static void on_left(void *argument)
{
    struct step *step = argument;
    struct displaced *entry = find(step->box, step->lease);

    if (entry && entry->away_wanted && !entry->away) {
        if (!entry->idle && dice_chance(&step->box->dice, 150)) {
            entry->reason = "its kernels run too long";
            entry->away_wanted = false;
        } else {
            entry->away = true;
        }
        world_trace("lease %s %s", entry->lease, entry->away ? "is off its GPUs" : "stays");
        changed(step->box);
    }
    free(step);
}

// As a box does, the return waits for sessions beside which the lease's own cannot run.
static void on_returned(void *argument)
{
    struct step *step = argument;
    struct displaced *entry = find(step->box, step->lease);
    const char *other = NULL;

    if (entry && !entry->away_wanted)
        other = oracle_lease_beside(step->box, step->lease);
    if (other && (step->box->stuck || step->tries++ < RETURN_TRIES_MAX)) {
        world_after(&step->box->host, SECOND, on_returned, step);
        return;
    }
    if (other)
        world_broken("sessions of lease %s never come back: lease %s runs on their GPU",
                     step->lease, other);
    if (entry && !entry->away_wanted) {
        world_trace("lease %s is on its GPUs again", entry->lease);
        drop(entry);
        changed(step->box);
    }
    free(step);
}

static struct displaced *begin(struct simulated_box *box, const char *lease, bool idle)
{
    struct displaced *entry = find(box, lease);

    if (!entry) {
        entry = calloc(1, sizeof(*entry));
        if (!entry)
            abort();
        entry->box = box;
        snprintf(entry->lease, sizeof(entry->lease), "%s", lease);
        TAILQ_INSERT_TAIL(&displaced, entry, link);
    }
    entry->idle = idle;
    entry->away_wanted = true;
    entry->reason = NULL;
    if (!entry->away)
        plan_step(box, lease, on_left);
    return entry;
}

static void come_back(struct displaced *entry)
{
    entry->away_wanted = false;
    if (entry->away)
        plan_step(entry->box, entry->lease, on_returned);
    else
        drop(entry);
}

static bool is_named(const json_t *list, const char *lease)
{
    size_t i;
    json_t *name;

    json_array_foreach(list, i, name)
        if (!strcmp(json_string_value(name), lease))
            return true;
    return false;
}

static void adopt_left_out(struct simulated_box *box, const json_t *ordered, const json_t *idle)
{
    struct displaced *entry, *next;

    for (entry = TAILQ_FIRST(&displaced); entry; entry = next) {
        bool named = is_named(entry->idle ? idle : ordered, entry->lease);
        next = TAILQ_NEXT(entry, link);
        if (entry->box != box)
            continue;
        if (!entry->idle && !named && (entry->away_wanted || !entry->away))
            come_back(entry);
        else if (entry->idle && entry->reported && !named && (entry->given || entry->calls))
            come_back(entry);
        else
            entry->given = named;
    }
}

void suspension_adopt(struct box *box, const json_t *ordered, const json_t *idle)
{
    struct simulated_box *self = box_with_name(box->name);
    const struct displaced *known;
    json_t *name;
    size_t i;

    if (!json_is_array(ordered))
        return;
    adopt_left_out(self, ordered, idle);
    json_array_foreach(ordered, i, name) {
        known = find(self, json_string_value(name));
        if (!known || known->idle || !known->away_wanted)
            if (!known || !known->reason)
                begin(self, json_string_value(name), false);
    }
    json_array_foreach(idle, i, name) {
        known = find(self, json_string_value(name));
        if (!known || !known->idle || !known->away_wanted) {
            struct displaced *entry = begin(self, json_string_value(name), true);
            entry->reported = entry->given = true;
        }
    }
}

json_t *suspension_report(struct box *box)
{
    const struct simulated_box *self = box_with_name(box->name);
    json_t *list = json_array();
    struct displaced *entry;

    TAILQ_FOREACH(entry, &displaced, link) {
        if (entry->box != self || (entry->idle && !(entry->away && entry->away_wanted)))
            continue;
        entry->reported = true;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:b, s:b, s:b}", "lease", entry->lease, "state",
                            entry->away ? "suspended" : "running", "reason",
                            entry->reason ? entry->reason : "", "returns", !entry->away_wanted,
                            "idle", entry->idle, "calls", entry->calls));
    }
    return list;
}

void suspension_forget(struct box *box, const char *lease)
{
    struct displaced *entry = find(box_with_name(box->name), lease);
    struct worker_process *worker;

    if (!entry)
        return;
    TAILQ_FOREACH(worker, &box->workers, link)
        if (!strcmp(worker->session.grant.lease, lease))
            ((struct simulated_session *)worker)->off |= entry->away;
    drop(entry);
}

static void on_call(void *argument)
{
    struct step *step = argument;
    struct displaced *entry = find(step->box, step->lease);

    if (entry && entry->idle && !entry->calls) {
        entry->calls = true;
        world_trace("lease %s has work again", entry->lease);
        changed(step->box);
    }
    free(step);
}

void box_begin_idle(struct simulated_box *box)
{
    const struct worker_process *worker = box->box ? TAILQ_FIRST(&box->box->workers) : NULL;
    struct step *step;

    if (!worker || worker->state == WORKER_ENDING || find(box, worker->session.grant.lease))
        return;
    world_host = &box->host;
    begin(box, worker->session.grant.lease, true);
    step = calloc(1, sizeof(*step));
    if (!step)
        abort();
    step->box = box;
    snprintf(step->lease, sizeof(step->lease), "%s", worker->session.grant.lease);
    world_after(&box->host, dice_between(&box->dice, 4 * SECOND, 2 * MINUTE), on_call, step);
    world_host = NULL;
}

// ---- moves ----

static struct place *place_find(const struct simulated_box *box, const char *lease,
                                uint32_t ordinal)
{
    struct place *place;

    TAILQ_FOREACH(place, &places, link)
        if (place->box == box && place->ordinal == ordinal && !strcmp(place->lease, lease))
            return place;
    return NULL;
}

const char *box_place_of(const struct simulated_box *box, const char *lease, uint32_t ordinal,
                         const char *uuid)
{
    const struct place *place = place_find(box, lease, ordinal);

    return place && *place->gpu ? place->gpu : uuid;
}

static bool has_sessions(const struct place *place)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &place->box->box->workers, link)
        if (!strcmp(worker->session.grant.lease, place->lease))
            return true;
    return false;
}

// Only a session can be an obstacle.
static void on_moved(void *argument)
{
    struct place *place = argument;

    if (!*place->wanted || place->done || *place->refused)
        return; // the order is no more
    if (place->may_refuse && has_sessions(place) && dice_chance(&place->box->dice, 150)) {
        strcpy(place->refused, place->wanted);
    } else {
        strcpy(place->gpu, place->wanted);
        place->done = true;
    }
    world_trace("lease %s %s GPU %s", place->lease, place->done ? "is on" : "is not moved to",
                place->wanted);
    changed(place->box);
}

static void order_move(struct simulated_box *box, const char *lease, uint32_t ordinal,
                       const char *gpu)
{
    struct place *place = place_find(box, lease, ordinal);

    if (place && !strcmp(place->wanted, gpu))
        return;
    if (!place) {
        place = calloc(1, sizeof(*place));
        if (!place)
            abort();
        place->box = box;
        place->ordinal = ordinal;
        snprintf(place->lease, sizeof(place->lease), "%s", lease);
        TAILQ_INSERT_TAIL(&places, place, link);
    }
    snprintf(place->wanted, sizeof(place->wanted), "%s", gpu);
    *place->refused = '\0';
    place->done = !strcmp(place->gpu, gpu);
    place->may_refuse = !find(box, lease);
    world_after(&box->host, dice_between(&box->dice, 10 * MS, 3 * SECOND), on_moved, place);
}

static bool is_ordered(const json_t *list, const struct place *place)
{
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
        if (!strcmp(json_string_value(json_object_get(entry, "lease")), place->lease) &&
            json_integer_value(json_object_get(entry, "ordinal")) == (json_int_t)place->ordinal)
            return true;
    return false;
}

void moves_adopt(struct box *box, const json_t *list)
{
    struct simulated_box *self = box_with_name(box->name);
    struct place *place;
    json_t *entry;
    size_t i;

    if (!json_is_array(list))
        return;
    TAILQ_FOREACH(place, &places, link)
        if (place->box == self && !is_ordered(list, place)) // its events may still come
            *place->gpu = *place->wanted = *place->refused = '\0', place->done = false;
    json_array_foreach(list, i, entry)
        order_move(self, json_string_value(json_object_get(entry, "lease")),
                   (uint32_t)json_integer_value(json_object_get(entry, "ordinal")),
                   json_string_value(json_object_get(entry, "gpu")));
}

json_t *moves_report(struct box *box)
{
    const struct simulated_box *self = box_with_name(box->name);
    json_t *list = json_array();
    const struct place *place;

    TAILQ_FOREACH(place, &places, link)
        if (place->box == self && *place->wanted)
            json_array_append_new(
                list, json_pack("{s:s, s:I, s:s, s:b, s:s, s:s}", "lease", place->lease, "ordinal",
                                (json_int_t)place->ordinal, "gpu", place->gpu, "done", place->done,
                                "refused", place->refused, "reason",
                                *place->refused ? "it cannot leave" : ""));
    return list;
}

// ---- the end of the process ----

static void on_move_again(void *argument)
{
    struct place *place = argument;

    if (place->box->host.up)
        on_moved(place);
}

void box_displaced_died(struct simulated_box *box)
{
    struct displaced *entry, *next;
    struct place *place;

    for (entry = TAILQ_FIRST(&displaced); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->box == box)
            drop(entry);
    }
    TAILQ_FOREACH(place, &places, link)
        if (place->box == box && *place->wanted && !place->done && !*place->refused)
            world_after(&box->host, dice_between(&box->dice, SECOND, 3 * MINUTE), on_move_again,
                        place);
}
