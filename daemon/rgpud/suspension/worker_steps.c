// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/worker_steps.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/suspension/image_room.h"
#include "daemon/rgpud/suspension/move_steps.h"
#include "daemon/rgpud/suspension/worker_images.h"
#include "daemon/rgpud/workers/worker_process.h"

static void tell_workers(const struct suspension *s, bool pause)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    for (size_t i = 0; i < count; i++) {
        const struct control_pause stop = {.number = s->number};
        const struct control_go_on start = {.number = s->number};
        list[i]->pause = (struct worker_pause){0};
        list[i]->active_ms = clock_ms();
        int err = pause ? control_send_packet(list[i]->control_fd, CONTROL_PAUSE, &stop, -1)
                        : control_send_packet(list[i]->control_fd, CONTROL_GO_ON, &start, -1);
        if (err)
            worker_process_kill(list[i], "does not hear that its lease is suspended");
    }
}

void suspension_stay(struct suspension *s, const char *why)
{
    if (*why && s->cause == SUSPENSION_MOVING)
        move_give_up(s, why);
    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->bytes = 0;
    s->light = false;
    tell_workers(s, false);
    suspension_move(s, SUSPENSION_NONE);
}

void suspension_lose(struct suspension *s, const char *why)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    char text[400];

    snprintf(text, sizeof(text), "the session was lost as it was suspended or resumed: %.256s",
             why);
    log_error("lease=%s sessions=%zu lost error=\"%s\"", s->lease, count, why);
    for (size_t i = 0; i < count; i++)
        worker_end(list[i], CONTROL_END_REASON_SUSPENDED, text);
    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->bytes = 0;
    s->light = false;
    suspension_move(s, SUSPENSION_NONE);
}

int suspension_paused(struct worker_process *worker, const struct control_paused *paused)
{
    const struct suspension *s = suspension_of(worker);

    if (!worker->session.id)
        return -EPROTO;
    // This message belongs to a pause that has been cancelled.
    if (!s || s->number != paused->number || s->state != SUSPENSION_PAUSING)
        return 0;
    worker->pause.number = paused->number;
    worker->pause.shares = paused->shares;
    worker->pause.saves = paused->saves;
    worker->session.stats.memory = paused->memory;
    if (paused->executing)
        worker->pause.called_ms = clock_ms();
    return 0;
}

int suspension_called(struct worker_process *worker, const struct control_called *called)
{
    const struct suspension *s = suspension_of(worker);

    if (!worker->session.id)
        return -EPROTO;
    if (s && s->number == called->number && !worker->pause.called_ms)
        worker->pause.called_ms = clock_ms();
    return 0;
}

int suspension_pause(struct suspension *s, char *text, size_t room)
{
    int err = image_room_take(s, text, room);

    if (err) {
        snprintf(s->problem, sizeof(s->problem), "%.255s", text);
        s->box->suspension_changes++;
        return err;
    }
    *s->problem = '\0';
    s->reported = s->called = s->reported_called = s->given = false;
    s->puts_back = s->must_deepen = s->cannot_deepen = false;
    s->number = ++s->box->pauses;
    suspension_move(s, SUSPENSION_PAUSING);
    tell_workers(s, true);
    return 0;
}

// Lets the workers continue after their return. Suspends them again if that was ordered meanwhile.
static void worker_steps_go_on(struct suspension *s)
{
    char text[320];

    suspension_stay(s, "");
    if (s->away_wanted && suspension_pause(s, text, sizeof(text)))
        log_info("lease=%s is not suspended again reason=\"%s\"", s->lease, text);
}

void suspension_return(struct suspension *s)
{
    char why[sizeof(s->problem)];

    snprintf(why, sizeof(why), "%s", s->problem);
    if (*why)
        suspension_stay(s, why);
    else
        worker_steps_go_on(s);
}

void suspension_restore(struct suspension *s, const char *why)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->light = false;
    if (!worker_images_restore(list, count, s->number))
        suspension_return(s);
    else if (s->state != SUSPENSION_RETURNING)
        suspension_move(s, SUSPENSION_RETURNING);
}
