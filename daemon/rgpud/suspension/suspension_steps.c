// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/suspension_steps.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/gpus/exported.h"
#include "daemon/rgpud/suspension/driver_steps.h"
#include "daemon/rgpud/suspension/image_room.h"
#include "daemon/rgpud/suspension/move_steps.h"
#include "daemon/rgpud/suspension/worker_images.h"
#include "daemon/rgpud/suspension/worker_steps.h"
#include "daemon/rgpud/workers/worker_process.h"

// Returns the reason that the sessions cannot be suspended. Driver 580 does not restore shared
// memory: its handles then point to other memory or to none.
static const char *suspension_steps_objection(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (exports_has_any(list[i]))
            return "it shares memory or events with other processes (cuIpc*, cuMemExportToShareableHandle), which "
                   "the driver does not bring back";
        if (list[i]->pause.shares)
            return "a GPU of another box reaches its memory, or its GPU that of another box (peer_gpus), which the "
                   "driver does not bring back";
    }
    return NULL;
}

// Notes the memory that the return needs, as far as it is known. rgpu-suspender checks GPUs without
// figures.
static void note_needs(struct suspension *s, struct worker_process **list, size_t count)
{
    memset(s->needed, 0, sizeof(s->needed));
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < s->box->device_count; j++)
            s->needed[j] += list[i]->driver_bytes[j];
}

static void suspension_steps_take_away(struct suspension *s, struct worker_process **list,
                                       size_t count)
{
    const char *why = suspension_steps_objection(list, count);

    if (why) {
        suspension_stay(s, why);
        return;
    }
    note_needs(s, list, count);
    worker_images_save(list, count, s->number, suspension_timeout_ms(s));
    suspension_move(s, SUSPENSION_LEAVING);
}

// Lets the driver move what the workers have not moved themselves. A worker that takes too long has
// moved nothing. If the workers have moved nearly all, the suspension is light at first.
static void review_leaving(struct suspension *s, struct worker_process **list, size_t count)
{
    int64_t limit = suspension_timeout_ms(s) + suspension_transfer_ms(s);

    if (s->helper || clock_ms() < s->retry_ms ||
        (worker_images_pending(list, count) && clock_ms() - s->since_ms < limit))
        return;
    if (worker_images_busy(list, count)) {
        suspension_restore(s, "its work on the GPU does not come to an end");
        return;
    }
    if (s->cause != SUSPENSION_MOVING && worker_images_suffice(list, count)) {
        *s->problem = '\0';
        s->light = true;
        suspension_move(s, SUSPENSION_AWAY);
        return;
    }
    int err = driver_step(s, DRIVER_SUSPENDS);
    if (err)
        suspension_restore(s, strerror(-err));
}

// Ends sessions whose workers do not restore their memory in time. The others of the lease return.
static void end_stuck(const struct suspension *s, struct worker_process **list, size_t count)
{
    int64_t limit = suspension_timeout_ms(s) + suspension_transfer_ms(s);
    char text[160];

    if (clock_ms() - s->since_ms < limit)
        return;
    snprintf(text, sizeof(text), "its memory did not return to the GPU within %lld ms",
             (long long)limit);
    for (size_t i = 0; i < count; i++)
        if (worker_images_pending(&list[i], 1))
            worker_end(list[i], CONTROL_END_REASON_SUSPENDED, text);
}

// If there is no room for an image, the rest leaves again, and all returns later.
static void review_returning(struct suspension *s, struct worker_process **list, size_t count)
{
    if (s->helper)
        return;
    if (worker_images_pending(list, count)) {
        end_stuck(s, list, count);
        return;
    }
    int32_t result = worker_images_result(list, count);
    if (result == CONTROL_RESULT_OUT_OF_MEMORY) {
        log_info("lease=%s session=%llu finds no room on the GPU", *s->lease ? s->lease : "none",
                 (unsigned long long)s->session);
        s->retry_ms = clock_ms() + SUSPENSION_RETRY_MS;
        worker_images_save(list, count, s->number, suspension_timeout_ms(s));
        suspension_move(s, SUSPENSION_LEAVING);
    } else if (result) {
        suspension_lose(s, "its memory does not come back to the GPU");
    } else {
        suspension_return(s);
    }
}

// ---- light suspensions ----

static bool others_use_its_gpus(const struct suspension *s)
{
    const struct worker_process *worker;
    device_set gpus = suspension_rests_on(s);

    TAILQ_FOREACH(worker, &s->box->workers, link)
        if (worker->session.id && !worker->pause.away &&
            gpus & device_set_of(&worker->session.grant))
            return true;
    return false;
}

// Returns true if the driver says that a worker still has more memory than it should.
static bool keeps_too_much(const struct suspension *s)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    for (size_t i = 0; i < count; i++)
        if (list[i]->device && list[i]->differs[list[i]->device - s->box->devices] >= 2)
            return true;
    return false;
}

// Returns true if the memory that a light suspension leaves on the GPUs is needed there, has to
// move to others, or is too much.
static bool needs_deep(const struct suspension *s)
{
    if (!s->light || s->cannot_deepen)
        return false;
    return move_is_pending(s->box, s->lease) || (s->away_wanted && s->must_deepen) ||
           (suspension_gives_way(s) && others_use_its_gpus(s)) || keeps_too_much(s);
}

static void deepen(struct suspension *s)
{
    if (clock_ms() < s->retry_ms)
        return;
    if (driver_step(s, DRIVER_DEEPENS))
        s->retry_ms = clock_ms() + SUSPENSION_RETRY_MS;
}

// Returns the reason that the memory cannot return now, or NULL.
static const char *return_obstacle(struct suspension *s, char *text, size_t room)
{
    uint64_t needed[BOX_DEVICES_MAX];

    for (uint32_t i = 0; i < s->box->device_count; i++) {
        uint64_t rest = suspension_rest(s, i);
        needed[i] = s->needed[i] > rest ? s->needed[i] - rest : 0;
    }
    return s->others_turn ? "others have their turn" : move_obstacle(s, needed, text, room);
}

static void bring_back(struct suspension *s)
{
    char text[256];

    if (clock_ms() < s->retry_ms)
        return;
    if (s->light)
        move_give_up(s, "the driver does not move the rest of its memory");
    const char *why = return_obstacle(s, text, sizeof(text));
    // Sessions that were suspended only for a move do not wait for the other GPU.
    if (why && s->cause == SUSPENSION_MOVING && move_give_up(s, why))
        why = return_obstacle(s, text, sizeof(text));
    if (!why && s->light) {
        suspension_restore(s, "");
        return;
    }
    int err = why ? 0 : driver_step(s, DRIVER_RESUMES);
    if (!why && !err) {
        suspension_move(s, SUSPENSION_RETURNING);
        return;
    }
    snprintf(s->problem, sizeof(s->problem), "%s", why ? why : strerror(-err));
    s->retry_ms = clock_ms() + SUSPENSION_RETRY_MS;
}

// ---- the next step ----

static bool all_rest(const struct suspension *s, struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.number != s->number)
            return false;
    return true;
}

static void review_pause(struct suspension *s, struct worker_process **list, size_t count)
{
    bool late = clock_ms() - s->since_ms > (int64_t)(s->box->settings.suspend_timeout / 1000);
    char text[256];

    if (!s->away_wanted)
        suspension_stay(s, "it was resumed before it was suspended");
    else if (!all_rest(s, list, count) && !late)
        return;
    else if (!all_rest(s, list, count))
        suspension_stay(
            s,
            "copies or kernels that wait for the client, or for another box, do not come to an end");
    else if (s->cause == SUSPENSION_IDLE && suspension_is_called(s))
        suspension_stay(s, "it is not idle any more");
    else if (image_room_take(s, text, sizeof(text)))
        suspension_stay(s, text); // they have more memory than was known
    else
        suspension_steps_take_away(s, list, count);
}

// Ends sessions with a call that has waited longer than suspend_wait. Their programs get the
// reason.
static void suspension_steps_end_waiting(struct suspension *s, struct worker_process **list,
                                         size_t count)
{
    int64_t most = (int64_t)(s->box->settings.suspend_wait / 1000), now = clock_ms();

    for (size_t i = 0; most && i < count; i++) {
        char text[160];
        if (!list[i]->pause.called_ms || now - list[i]->pause.called_ms < most)
            continue;
        snprintf(text, sizeof(text),
                 "a call has waited %lld s for the lease, which is suspended (suspend_wait)",
                 (long long)most / 1000);
        worker_end(list[i], CONTROL_END_REASON_SUSPENDED, text);
    }
}

static void review_away(struct suspension *s, struct worker_process **list, size_t count)
{
    if (s->cause == SUSPENSION_MOVING)
        s->away_wanted = false;
    if (s->cause == SUSPENSION_IDLE && suspension_is_called(s))
        suspension_wake(s);
    suspension_steps_end_waiting(s, list, count);
    if (s->helper)
        return;
    if (needs_deep(s))
        deepen(s);
    else if (!s->away_wanted)
        bring_back(s);
}

static void review_doubt(struct suspension *s, struct worker_process **list, size_t count)
{
    suspension_steps_end_waiting(s, list, count);
    if (s->helper || clock_ms() < s->retry_ms)
        return;
    if (driver_step(s, DRIVER_SETTLES))
        s->retry_ms = clock_ms() + SUSPENSION_RETRY_MS;
}

void suspension_step(struct suspension *s)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    // Without sessions there is no suspended memory. The lease stays suspended for later sessions.
    if (!count && !s->helper && (!*s->lease || !s->away_wanted || s->state == SUSPENSION_NONE)) {
        suspension_release(s);
        return;
    }
    if (!count && !s->helper) {
        s->bytes = 0;
        if (s->state != SUSPENSION_AWAY)
            suspension_move(s, SUSPENSION_AWAY);
        return;
    }
    switch (s->state) {
    case SUSPENSION_PAUSING: review_pause(s, list, count); break;
    case SUSPENSION_AWAY: review_away(s, list, count); break;
    case SUSPENSION_UNCLEAR: review_doubt(s, list, count); break;
    case SUSPENSION_LEAVING: review_leaving(s, list, count); break;
    case SUSPENSION_RETURNING: review_returning(s, list, count); break;
    case SUSPENSION_NONE: break;
    }
}
