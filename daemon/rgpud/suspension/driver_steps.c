// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/driver_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/suspension/move_steps.h"
#include "daemon/rgpud/suspension/suspender.h"
#include "daemon/rgpud/suspension/worker_images.h"
#include "daemon/rgpud/suspension/worker_steps.h"
#include "daemon/rgpud/workers/worker_process.h"

enum {
    IDLE_LOCK_MS = 100, // longest delay for a call of a session that was not idle after all
    HELPER_MS = 5000,   // time for rgpu-suspender to start, added to its work
    SLOW_BYTES_PER_MS = 256 << 10, // low estimate; an H100's driver is five times as fast
};

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

static void driver_steps_is_settled(void *argument, enum suspender_outcome outcome,
                                    const char *text, const char *moved)
{
    struct suspension *s = argument;
    char why[sizeof(s->problem)];

    s->helper = NULL;
    note_moved(s, moved);
    s->retry_ms = clock_ms() + SUSPENSION_RETRY_MS;
    snprintf(why, sizeof(why), "%.200s; it runs on", s->problem);
    if (outcome == SUSPENDER_DONE) {
        suspension_restore(s, s->away_wanted ? why : "");
    } else if (outcome == SUSPENDER_LATER) {
        s->light = false;
        suspension_move(s, SUSPENSION_AWAY);
    } else if (outcome == SUSPENDER_LOST) {
        suspension_lose(s, text);
    } else {
        log_debug("lease=%s is still in doubt reason=\"%s\"", s->lease, text);
    }
}

// The driver has moved what a light suspension had left on the GPUs, or has refused to.
static void is_deep(void *argument, enum suspender_outcome outcome, const char *text,
                    const char *moved)
{
    struct suspension *s = argument;

    s->helper = NULL;
    if (outcome == SUSPENDER_DONE) {
        s->light = false;
        suspension_move(s, SUSPENSION_AWAY);
    } else if (outcome == SUSPENDER_LOST) {
        suspension_lose(s, text);
    } else if (outcome == SUSPENDER_UNKNOWN) {
        doubt(s, text);
    } else {
        log_info("lease=%s session=%llu leaves memory on the GPU reason=\"%s\"",
                 *s->lease ? s->lease : "none", (unsigned long long)s->session, text);
        s->cannot_deepen = true;
        suspension_move(s, SUSPENSION_AWAY);
    }
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
        suspension_lose(s, text);
    else if (outcome == SUSPENDER_UNKNOWN)
        doubt(s, text);
    else
        suspension_restore(s, text);
}

static void is_back(void *argument, enum suspender_outcome outcome, const char *text,
                    const char *moved)
{
    struct suspension *s = argument;

    s->helper = NULL;
    note_moved(s, moved);
    snprintf(s->problem, sizeof(s->problem), "%s", text);
    if (outcome == SUSPENDER_DONE) {
        suspension_restore(s, "");
    } else if (outcome == SUSPENDER_LOST) {
        suspension_lose(s, text);
    } else if (outcome == SUSPENDER_UNKNOWN) {
        doubt(s, text);
    } else {
        // A lease that cannot be on another GPU returns to its own. A lease without enough free
        // memory waits for memory. For any other failure a person has to act.
        bool other = (s->cause == SUSPENSION_MOVING || outcome == SUSPENDER_FAILED) &&
                     move_give_up(s, text);
        s->away_wanted |= outcome == SUSPENDER_FAILED && !other;
        s->retry_ms = clock_ms() + SUSPENSION_RETRY_MS;
        suspension_move(s, SUSPENSION_AWAY);
    }
}

unsigned suspension_timeout_ms(const struct suspension *s)
{
    return s->cause == SUSPENSION_IDLE ? IDLE_LOCK_MS
                                       : (unsigned)(s->box->settings.suspend_timeout / 1000);
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

int64_t suspension_transfer_ms(const struct suspension *s)
{
    return HELPER_MS + (int64_t)(s->bytes / SLOW_BYTES_PER_MS);
}

static int driver_steps_start(struct suspension *s, enum spawner_act act, unsigned timeout_ms,
                              suspender_ended *ended)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    int err = name_workers(s, list, count);

    if (err)
        return err;
    // Locking may take suspend_timeout for each worker.
    int64_t limit = suspension_transfer_ms(s) +
                    (int64_t)(s->box->settings.suspend_timeout / 1000 * (count + 1));
    err = suspender_start(s->box, act, timeout_ms, limit, ended, s, &s->helper);
    for (size_t i = 0; i < count; i++)
        list[i]->unkept = true;
    return err;
}

int driver_step(struct suspension *s, enum driver_step step)
{
    unsigned timeout_ms = suspension_timeout_ms(s);

    s->puts_back = step == DRIVER_RESUMES;
    switch (step) {
    case DRIVER_SUSPENDS: return driver_steps_start(s, SPAWNER_SUSPEND, timeout_ms, is_away);
    case DRIVER_DEEPENS: return driver_steps_start(s, SPAWNER_SUSPEND, timeout_ms, is_deep);
    case DRIVER_RESUMES: return driver_steps_start(s, SPAWNER_RESUME, 0, is_back);
    case DRIVER_SETTLES: return driver_steps_start(s, SPAWNER_SETTLE, 0, driver_steps_is_settled);
    }
    return -EINVAL;
}
