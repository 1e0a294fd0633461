// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/suspension.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/suspension/suspender.h"
#include "daemon/rgpud/suspension/worker_images.h"
#include "daemon/rgpud/workers/worker_process.h"

static const char *const state_words[] = {
    [SUSPENSION_NONE] = "running",        [SUSPENSION_PAUSING] = "pausing",
    [SUSPENSION_LEAVING] = "leaving",     [SUSPENSION_AWAY] = "suspended",
    [SUSPENSION_RETURNING] = "returning", [SUSPENSION_UNCLEAR] = "unclear",
};

// ---- members ----

static bool is_member(const struct suspension *s, const struct worker_process *worker)
{
    const struct session_record *session = &worker->session;

    return worker->state == WORKER_SERVING && session->id &&
           (*s->lease ? !strcmp(session->grant.lease, s->lease) : session->id == s->session);
}

struct suspension *suspension_of(const struct worker_process *worker)
{
    struct suspension *s;

    TAILQ_FOREACH(s, &worker->box->suspensions, link)
        if (is_member(s, worker))
            return s;
    return NULL;
}

struct suspension *suspension_find(const struct box *box, const char *name)
{
    struct suspension *s;
    char *end;
    unsigned long long number = strtoull(name, &end, 10);

    TAILQ_FOREACH(s, &box->suspensions, link)
        if (*s->lease ? !strcmp(s->lease, name) : end != name && !*end && s->session == number)
            return s;
    return NULL;
}

size_t suspension_members(const struct suspension *s, struct worker_process **list)
{
    struct worker_process *worker;
    size_t count = 0;

    TAILQ_FOREACH(worker, &s->box->workers, link)
        if (is_member(s, worker) && count < SUSPENSION_MEMBERS_MAX)
            list[count++] = worker;
    return count;
}

// ---- queries ----

const char *suspension_word(const struct worker_process *worker)
{
    const struct suspension *s = suspension_of(worker);

    return !s || s->state == SUSPENSION_NONE                               ? NULL
           : s->state == SUSPENSION_AWAY && (!s->away_wanted || s->called) ? "waits for memory"
                                                                           : state_words[s->state];
}

bool suspension_needs_driver(const struct suspension *s)
{
    return s->helper || s->state == SUSPENSION_UNCLEAR ||
           (s->state == SUSPENSION_AWAY && !s->light);
}

bool suspension_moves(const struct suspension *s, const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    bool moves = s->cause == SUSPENSION_MOVING;

    for (uint32_t i = 0; i < grant->device_count; i++)
        moves |= worker->going[i] && worker->going[i] != grant->devices[i];
    return moves;
}

bool suspension_gives_way(const struct suspension *s)
{
    return s->light && !s->cannot_deepen && s->away_wanted && s->cause != SUSPENSION_TURN &&
           (s->cause != SUSPENSION_IDLE || s->reported);
}

device_set suspension_rests_on(const struct suspension *s)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    device_set set = 0;

    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.rest)
            set |= device_set_of(&list[i]->session.grant);
    return set;
}

// Lets the contexts of suspended leases leave the GPUs of the grant. Returns true if there are any.
static bool make_way(struct box *box, const struct session_grant *grant)
{
    struct suspension *s;
    bool any = false;

    TAILQ_FOREACH(s, &box->suspensions, link) {
        if (!suspension_gives_way(s) || !(suspension_rests_on(s) & device_set_of(grant)))
            continue;
        any = true;
        if (!s->must_deepen)
            box_changed(box);
        s->must_deepen = true;
    }
    return any;
}

bool suspension_delays(struct box *box, const struct session_grant *grant)
{
    struct suspension *s = *grant->lease ? suspension_find(box, grant->lease) : NULL;

    if (!s || s->state == SUSPENSION_NONE)
        return make_way(box, grant);
    if (s->cause == SUSPENSION_IDLE)
        suspension_wake(s);
    s->called = s->called || s->cause == SUSPENSION_TURN;
    return true;
}

uint64_t suspension_bytes(const struct box *box)
{
    const struct suspension *s;
    uint64_t sum = 0;

    TAILQ_FOREACH(s, &box->suspensions, link)
        sum += s->bytes;
    return sum;
}

uint64_t suspension_rest(const struct suspension *s, uint32_t index)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (list[i]->device == &s->box->devices[index])
            sum += list[i]->pause.rest;
    return sum;
}

unsigned suspension_sessions(const struct box *box, const struct box_device *device)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        count += worker->pause.away &&
                 (!device || device_is_granted(&worker->session.grant, device));
    return count;
}

json_t *suspension_show(const struct box *box, const char *name)
{
    const struct suspension *s = suspension_find(box, name);

    if (!s)
        return NULL;
    return json_pack("{s:s, s:I, s:s, s:b, s:I, s:f, s:s, s:b, s:b}", "lease", s->lease, "session",
                     (json_int_t)s->session, "state", state_words[s->state], "returns",
                     !s->away_wanted, "bytes", (json_int_t)s->bytes, "seconds",
                     (double)(clock_ms() - s->since_ms) / 1000, "reason", s->problem, "idle",
                     s->cause == SUSPENSION_IDLE, "calls", s->called);
}

bool suspension_is_called(const struct suspension *s)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.called_ms)
            return true;
    return false;
}

// ---- changes of state ----

void suspension_wake(struct suspension *s)
{
    if (!s->reported)
        s->away_wanted = false;
    else if (!s->called) {
        s->called = true;
        s->box->suspension_changes++;
        box_changed(s->box);
    }
}

void suspension_move(struct suspension *s, enum suspension_state state)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    log_info("lease=%s session=%llu suspension=%s was=%s bytes=%llu%s%s%s",
             *s->lease ? s->lease : "none", (unsigned long long)s->session, state_words[state],
             state_words[s->state], (unsigned long long)s->bytes, *s->problem ? " reason=\"" : "",
             s->problem, *s->problem ? "\"" : "");
    for (size_t i = 0; i < count; i++) {
        if (list[i]->pause.away != (state == SUSPENSION_AWAY))
            memset(list[i]->differs, 0, sizeof(list[i]->differs));
        list[i]->pause.away = state == SUSPENSION_AWAY;
        list[i]->pause.rest = list[i]->pause.away && s->light ? worker_images_rest(list[i]) : 0;
        list[i]->unkept = true;
    }
    s->since_ms = s->state == state ? s->since_ms : clock_ms();
    s->state = state;
    s->box->suspension_changes++;
    box_changed(s->box);
}

void suspension_release(struct suspension *s)
{
    TAILQ_REMOVE(&s->box->suspensions, s, link);
    suspender_abandon(&s->helper);
    if (s->tick)
        event_free(s->tick);
    free(s);
}
