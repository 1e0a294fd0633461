// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/suspension_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/gpus/exported.h"
#include "daemon/rgpud/suspension/image_room.h"
#include "daemon/rgpud/suspension/move_steps.h"
#include "daemon/rgpud/suspension/suspender.h"
#include "daemon/rgpud/suspension/worker_images.h"
#include "daemon/rgpud/workers/worker_process.h"

enum {
    RETRY_MS = 1000,
    IDLE_LOCK_MS = 100, // longest delay for a call of a session that was not idle after all
    HELPER_MS = 5000,   // time for rgpu-suspender to start, added to its work
    SLOW_BYTES_PER_MS = 256 << 10, // low estimate; an H100's driver is five times as fast
};

// ---- the workers ----

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

// Lets the workers continue as before. WHY is kept for reports.
static void suspension_steps_stay(struct suspension *s, const char *why)
{
    if (*why && s->cause == SUSPENSION_MOVING)
        move_give_up(s, why);
    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->bytes = 0;
    tell_workers(s, false);
    suspension_move(s, SUSPENSION_NONE);
}

static void suspension_steps_lose(struct suspension *s, const char *why)
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
    worker->pause.movable = paused->movable;
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

// Lets the workers continue after their return. Suspends them again if that was ordered meanwhile.
static void suspension_steps_go_on(struct suspension *s)
{
    char text[320];

    suspension_steps_stay(s, "");
    if (s->away_wanted && suspension_pause(s, text, sizeof(text)))
        log_info("lease=%s is not suspended again reason=\"%s\"", s->lease, text);
}

// Ends a suspension whose memory is on the GPUs again. If there is a reason why the sessions were
// not suspended, they are not suspended again.
static void suspension_steps_return(struct suspension *s)
{
    char why[sizeof(s->problem)];

    snprintf(why, sizeof(why), "%s", s->problem);
    if (*why)
        suspension_steps_stay(s, why);
    else
        suspension_steps_go_on(s);
}

// Lets the workers restore the images that they made themselves, and continue. The driver has
// restored the rest, or has not moved it because of WHY.
static void suspension_steps_restore(struct suspension *s, const char *why)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    snprintf(s->problem, sizeof(s->problem), "%s", why);
    if (!worker_images_restore(list, count, s->number))
        suspension_steps_return(s);
    else if (s->state != SUSPENSION_RETURNING)
        suspension_move(s, SUSPENSION_RETURNING);
}

// ---- results of rgpu-suspender ----

// Marks the suspension's state as unknown. The driver may complete the request although the helper
// that waited for it has ended. The box therefore keeps asking the driver for the state, and gives
// up no session that can still be found.
static void doubt(struct suspension *s, const char *why)
{
    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->retry_ms = 0;
    log_error("lease=%s session=%llu nobody knows whether it is suspended reason=\"%s\"",
              *s->lease ? s->lease : "none", (unsigned long long)s->session, why);
    suspension_move(s, SUSPENSION_UNCLEAR);
}

static bool is_among(const char *numbers, pid_t pid)
{
    char *end = (char *)numbers;

    while (*end) {
        const char *at = end;
        long number = strtol(at, &end, 10);
        if (end == at)
            return false;
        if (number == pid)
            return true;
    }
    return false;
}

static void note_moved(struct suspension *s, const char *moved)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);

    for (size_t i = 0; *moved && i < count; i++)
        if (is_among(moved, list[i]->pid))
            move_arrived(list[i]);
}

static void suspension_steps_is_settled(void *argument, enum suspender_outcome outcome,
                                        const char *text, const char *moved)
{
    struct suspension *s = argument;
    char why[sizeof(s->problem)];

    s->helper = NULL;
    note_moved(s, moved);
    s->retry_ms = clock_ms() + RETRY_MS;
    snprintf(why, sizeof(why), "%.200s; it runs on", s->problem);
    if (outcome == SUSPENDER_DONE)
        suspension_steps_restore(s, s->away_wanted ? why : "");
    else if (outcome == SUSPENDER_LATER)
        suspension_move(s, SUSPENSION_AWAY);
    else if (outcome == SUSPENDER_LOST)
        suspension_steps_lose(s, text);
    else
        log_debug("lease=%s is still in doubt reason=\"%s\"", s->lease, text);
}

static void is_away(void *argument, enum suspender_outcome outcome, const char *text,
                    const char *moved)
{
    struct suspension *s = argument;
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];

    s->helper = NULL;
    *s->problem = '\0';
    if (outcome == SUSPENDER_FAILED)
        worker_images_in_vain(list, suspension_members(s, list));
    if (outcome == SUSPENDER_DONE)
        suspension_move(s, SUSPENSION_AWAY);
    else if (outcome == SUSPENDER_LOST)
        suspension_steps_lose(s, text);
    else if (outcome == SUSPENDER_UNKNOWN)
        doubt(s, text);
    else
        suspension_steps_restore(s, text);
}

static void is_back(void *argument, enum suspender_outcome outcome, const char *text,
                    const char *moved)
{
    struct suspension *s = argument;

    s->helper = NULL;
    note_moved(s, moved);
    snprintf(s->problem, sizeof(s->problem), "%s", text);
    if (outcome == SUSPENDER_DONE) {
        suspension_steps_restore(s, "");
    } else if (outcome == SUSPENDER_LOST) {
        suspension_steps_lose(s, text);
    } else if (outcome == SUSPENDER_UNKNOWN) {
        doubt(s, text);
    } else {
        // A lease that cannot be on another GPU returns to its own. A lease without enough free
        // memory waits for memory. For any other failure a person has to act.
        bool other = (s->cause == SUSPENSION_MOVING || outcome == SUSPENDER_FAILED) &&
                     move_give_up(s, text);
        s->away_wanted |= outcome == SUSPENDER_FAILED && !other;
        s->retry_ms = clock_ms() + RETRY_MS;
        suspension_move(s, SUSPENSION_AWAY);
    }
}

// ---- off the GPUs and back ----

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
    s->puts_back = false;
    s->number = ++s->box->pauses;
    suspension_move(s, SUSPENSION_PAUSING);
    tell_workers(s, true);
    return 0;
}

// Names the workers for the helper. For a restore, each comes with its target GPUs.
static int name_workers(const struct suspension *s, struct worker_process **list, size_t count)
{
    int err = 0;

    for (size_t i = 0; i < count && !err; i++) {
        struct spawner_order order = {.number = list[i]->number};
        if (s->puts_back)
            move_name_gpus(list[i], &order);
        err = spawner_add_member(s->box, &order);
    }
    return err;
}

// Returns the longest time that a copy of the memory may take.
static int64_t suspension_steps_transfer_ms(const struct suspension *s)
{
    return HELPER_MS + (int64_t)(s->bytes / SLOW_BYTES_PER_MS);
}

static int suspension_steps_start_helper(struct suspension *s, enum spawner_act act,
                                         unsigned timeout_ms, suspender_ended *ended)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    int err = name_workers(s, list, count);

    if (err)
        return err;
    // Locking may take suspend_timeout for each worker.
    int64_t limit = suspension_steps_transfer_ms(s) +
                    (int64_t)(s->box->settings.suspend_timeout / 1000 * (count + 1));
    return suspender_start(s->box, act, timeout_ms, limit, ended, s, &s->helper);
}

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

// Returns how long the GPU may take to become idle.
static unsigned suspension_steps_timeout_ms(const struct suspension *s)
{
    return s->cause == SUSPENSION_IDLE ? IDLE_LOCK_MS
                                       : (unsigned)(s->box->settings.suspend_timeout / 1000);
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
        suspension_steps_stay(s, why);
        return;
    }
    note_needs(s, list, count);
    worker_images_save(list, count, s->number, suspension_steps_timeout_ms(s));
    suspension_move(s, SUSPENSION_LEAVING);
}

// Lets the driver move what the workers have not moved themselves. If a worker takes too long, the
// driver moves what that one has on the GPU.
static void review_leaving(struct suspension *s, struct worker_process **list, size_t count)
{
    int64_t limit = suspension_steps_timeout_ms(s) + suspension_steps_transfer_ms(s);

    if (s->helper || clock_ms() < s->retry_ms ||
        (worker_images_pending(list, count) && clock_ms() - s->since_ms < limit))
        return;
    if (worker_images_busy(list, count)) {
        suspension_steps_restore(s, "its work on the GPU does not come to an end");
        return;
    }
    int err =
        suspension_steps_start_helper(s, SPAWNER_SUSPEND, suspension_steps_timeout_ms(s), is_away);
    if (err)
        suspension_steps_restore(s, strerror(-err));
}

// If there is no room for an image, the rest leaves again, and all returns later.
static void review_returning(struct suspension *s, struct worker_process **list, size_t count)
{
    if (s->helper || worker_images_pending(list, count))
        return;
    int32_t result = worker_images_result(list, count);
    if (result == CONTROL_RESULT_OUT_OF_MEMORY) {
        log_info("lease=%s session=%llu finds no room on the GPU", *s->lease ? s->lease : "none",
                 (unsigned long long)s->session);
        s->retry_ms = clock_ms() + RETRY_MS;
        worker_images_save(list, count, s->number, suspension_steps_timeout_ms(s));
        suspension_move(s, SUSPENSION_LEAVING);
    } else if (result) {
        suspension_steps_lose(s, "its memory does not come back to the GPU");
    } else {
        suspension_steps_return(s);
    }
}

static void bring_back(struct suspension *s)
{
    char text[256];

    if (clock_ms() < s->retry_ms)
        return;
    const char *why = s->others_turn ? "others have their turn"
                                     : move_obstacle(s, s->needed, text, sizeof(text));
    // Sessions that were suspended only for a move do not wait for the other GPU.
    if (why && s->cause == SUSPENSION_MOVING && move_give_up(s, why))
        why = move_obstacle(s, s->needed, text, sizeof(text));
    s->puts_back = true;
    int err = why ? 0 : suspension_steps_start_helper(s, SPAWNER_RESUME, 0, is_back);
    if (!why && !err) {
        suspension_move(s, SUSPENSION_RETURNING);
        return;
    }
    snprintf(s->problem, sizeof(s->problem), "%s", why ? why : strerror(-err));
    s->retry_ms = clock_ms() + RETRY_MS;
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
        suspension_steps_stay(s, "it was resumed before it was suspended");
    else if (!all_rest(s, list, count) && !late)
        return;
    else if (!all_rest(s, list, count))
        suspension_steps_stay(
            s,
            "copies or kernels that wait for the client, or for another box, do not come to an end");
    else if (s->cause == SUSPENSION_IDLE && suspension_is_called(s))
        suspension_steps_stay(s, "it is not idle any more");
    else if (image_room_take(s, text, sizeof(text)))
        suspension_steps_stay(s, text); // they have more memory than was known
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
    if (!s->away_wanted)
        bring_back(s);
}

static void review_doubt(struct suspension *s, struct worker_process **list, size_t count)
{
    suspension_steps_end_waiting(s, list, count);
    if (s->helper || clock_ms() < s->retry_ms)
        return;
    if (suspension_steps_start_helper(s, SPAWNER_SETTLE, 0, suspension_steps_is_settled))
        s->retry_ms = clock_ms() + RETRY_MS;
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
