// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/suspension_orders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/suspension/suspension_steps.h"
#include "daemon/rgpud/suspension/worker_steps.h"
#include "daemon/rgpud/workers/worker_process.h"

enum { TICK_MS = 250 };

// ---- orders ----

static void suspension_orders_tick(evutil_socket_t fd, short events, void *argument)
{
    box_changed(argument);
}

static struct suspension *suspension_orders_add(struct box *box, const char *lease,
                                                uint64_t session)
{
    const struct timeval interval = {.tv_usec = TICK_MS * 1000};
    struct suspension *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->box = box;
    s->session = session;
    snprintf(s->lease, sizeof(s->lease), "%s", lease);
    TAILQ_INSERT_TAIL(&box->suspensions, s, link);
    s->tick = event_new(box->base, -1, EV_PERSIST, suspension_orders_tick, box);
    if (!s->tick || event_add(s->tick, &interval)) {
        suspension_release(s);
        return NULL;
    }
    return s;
}

// Returns the number if NAME is the number of a session without a lease, otherwise 0.
static uint64_t session_number(const struct box *box, const char *name)
{
    char *end;
    unsigned long long number = strtoull(name, &end, 10);
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (end != name && !*end && worker->session.id == number && !*worker->session.grant.lease)
            return number;
    return 0;
}

int suspension_begin(struct box *box, const char *name, enum suspension_cause cause, char *text,
                     size_t room)
{
    struct suspension *s = suspension_find(box, name);
    uint64_t session = session_number(box, name);

    if (strlen(name) >= sizeof(s->lease)) {
        snprintf(text, room, "no lease has so long a name");
        return -ENOENT;
    }
    if (!s)
        s = suspension_orders_add(box, session ? "" : name, session);
    if (!s) {
        snprintf(text, room, "out of memory");
        return -ENOMEM;
    }
    s->cause = cause;
    s->away_wanted = true;
    return s->state == SUSPENSION_NONE ? suspension_pause(s, text, room) : 0;
}

int suspension_end(struct box *box, const char *name)
{
    struct suspension *s = suspension_find(box, name);

    if (!s || s->state == SUSPENSION_NONE)
        return -ENOENT;
    if (s->cause == SUSPENSION_IDLE)
        suspension_wake(s);
    else
        s->away_wanted = false;
    s->retry_ms = 0;
    box_changed(box);
    return 0;
}

// ---- the broker ----

static bool suspension_orders_names(const json_t *list, const char *lease)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name && !strcmp(name, lease))
            return true;
    }
    return false;
}

// Resumes leases that the broker's list leaves out. A lease that could not be suspended is dropped,
// since the broker knows that result if its list leaves the lease out.
static void end_those_left_out(struct box *box, const json_t *list)
{
    struct suspension *s, *next;

    for (s = TAILQ_FIRST(&box->suspensions); s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->cause != SUSPENSION_OF_POOL || suspension_orders_names(list, s->lease))
            continue;
        s->away_wanted = false;
        s->retry_ms = 0;
        if (s->state == SUSPENSION_NONE)
            suspension_release(s);
    }
}

// Resumes idle leases that the broker knows of and that its list leaves out: it has returned their
// GPUs. If the broker only knows that the sessions are idle, they stay suspended until a client
// makes a call.
static void wake_those_left_out(struct box *box, const json_t *list)
{
    struct suspension *s;

    TAILQ_FOREACH(s, &box->suspensions, link) {
        bool named = suspension_orders_names(list, s->lease);
        if (s->cause == SUSPENSION_IDLE && s->reported && !named &&
            (s->given || s->reported_called)) {
            s->away_wanted = s->reported = s->called = s->reported_called = false;
            s->retry_ms = 0;
        }
        s->given = named;
    }
}

// Marks a suspension from an earlier run of this daemon. The broker knows its state.
static void note_given(struct suspension *s)
{
    s->reported = s->given = true;
}

static void suspension_orders_begin_all(struct box *box, const json_t *list,
                                        enum suspension_cause cause)
{
    char text[320];

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *lease = json_string_value(json_array_get(list, i));
        const struct suspension *known = lease ? suspension_find(box, lease) : NULL;
        if (!lease || !*lease || (known && known->cause == cause && known->away_wanted))
            continue;
        if (suspension_begin(box, lease, cause, text, sizeof(text)))
            log_info("lease=%s is not suspended reason=\"%s\"", lease, text);
        else if (cause == SUSPENSION_IDLE)
            note_given(suspension_find(box, lease));
    }
}

void suspension_adopt(struct box *box, const json_t *ordered, const json_t *idle)
{
    if (!json_is_array(ordered))
        return;
    end_those_left_out(box, ordered);
    wake_those_left_out(box, idle);
    suspension_orders_begin_all(box, ordered, SUSPENSION_OF_POOL);
    suspension_orders_begin_all(box, idle, SUSPENSION_IDLE);
    box_changed(box);
}

// Returns true if the broker gets a report of the suspension. It learns of an idle one when the GPU
// memory is free for others.
static bool is_reported(struct suspension *s)
{
    if (s->cause != SUSPENSION_IDLE)
        return s->cause == SUSPENSION_OF_POOL;
    if (!*s->lease || s->state != SUSPENSION_AWAY || !s->away_wanted)
        return false;
    s->reported = true;
    s->reported_called = s->called;
    return true;
}

json_t *suspension_report(struct box *box)
{
    json_t *list = json_array();
    struct suspension *s;

    TAILQ_FOREACH(s, &box->suspensions, link)
        if (is_reported(s))
            json_array_append_new(list, suspension_show(box, s->lease));
    return list;
}

void suspension_forget(struct box *box, const char *lease)
{
    struct suspension *s = suspension_find(box, lease);

    if (s)
        s->away_wanted = false;
}

// ---- taken over ----

static void suspension_orders_take_pause(struct suspension *s, struct worker_process *worker,
                                         const struct control_kept_session *kept)
{
    s->cause = (enum suspension_cause)kept->cause;
    s->number = kept->pause;
    s->away_wanted = kept->wanted;
    s->bytes = kept->images;
    for (uint32_t i = 0; i < kept->devices_count; i++)
        s->needed[worker->session.grant.devices[i] - s->box->devices] = kept->devices[i].needed;
    worker->pause = (struct worker_pause){.number = kept->pause,
                                          .saves = kept->image,
                                          .image = kept->image ? IMAGE_SAVED : IMAGE_NONE,
                                          .outcome = CONTROL_SAVE_OUTCOME_SAVED,
                                          .saved = kept->saved};
}

int suspension_take_over(struct worker_process *worker, const struct control_kept_session *kept)
{
    struct box *box = worker->box;
    const char *lease = worker->session.grant.lease;
    struct suspension *s = suspension_of(worker);
    bool light = !kept->deep;

    if (kept->cause > SUSPENSION_IDLE ||
        (light && (!kept->image || worker->session.grant.device_count != 1)))
        return -EINVAL;
    if (!s)
        s = suspension_orders_add(box, lease, *lease ? 0 : worker->session.id);
    if (!s)
        return -ENOMEM;
    box->pauses = kept->pause > box->pauses ? kept->pause : box->pauses;
    suspension_orders_take_pause(s, worker, kept);
    if (s->cause == SUSPENSION_IDLE && *lease && *box->settings.broker)
        note_given(s);
    s->light = light;
    snprintf(s->problem, sizeof(s->problem), "%s", light ? "" : "rgpud was restarted");
    suspension_move(s, light ? SUSPENSION_AWAY : SUSPENSION_UNCLEAR);
    return 0;
}

// ---- idle sessions ----

static bool suspension_orders_is_idle(const struct worker_process *worker)
{
    return figures_session_idle(worker, worker->box->settings.idle_suspend);
}

static bool all_idle(const struct box *box, const char *lease)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_SERVING && !strcmp(worker->session.grant.lease, lease) &&
            !suspension_orders_is_idle(worker))
            return false;
    return true;
}

// Suspends idle sessions. If that fails, the session counts as active now and is tried again after
// idle_suspend.
static void suspend_idle(struct box *box)
{
    struct worker_process *worker;
    char number[24], text[320];

    TAILQ_FOREACH(worker, &box->workers, link) {
        const char *lease = worker->session.grant.lease;
        if (worker->state != WORKER_SERVING || suspension_word(worker) ||
            !suspension_orders_is_idle(worker) || (*lease && !all_idle(box, lease)))
            continue;
        snprintf(number, sizeof(number), "%llu", (unsigned long long)worker->session.id);
        worker->active_ms = clock_ms();
        if (suspension_begin(box, *lease ? lease : number, SUSPENSION_IDLE, text, sizeof(text)))
            log_info("session=%s lease=%s is idle and is not suspended reason=\"%s\"", number,
                     lease, text);
    }
}

// ---- all suspensions ----

int suspension_open(struct box *box)
{
    const struct timeval interval = {.tv_sec = 1};

    box->idle_tick = event_new(box->base, -1, EV_PERSIST, suspension_orders_tick, box);
    return box->idle_tick && !event_add(box->idle_tick, &interval) ? 0 : -ENOMEM;
}

void suspension_review(struct box *box)
{
    struct suspension *s, *next;

    if (box->settings.idle_suspend)
        suspend_idle(box);
    for (s = TAILQ_FIRST(&box->suspensions); s; s = next) {
        next = TAILQ_NEXT(s, link);
        suspension_step(s);
    }
}

void suspension_close_all(struct box *box)
{
    while (!TAILQ_EMPTY(&box->suspensions))
        suspension_release(TAILQ_FIRST(&box->suspensions));
    if (box->idle_tick)
        event_free(box->idle_tick);
    box->idle_tick = NULL;
}
