// SPDX-License-Identifier: BSD-3-Clause
// See suspension.h. A suspension takes three steps: the workers are asked to come to a rest, rgpu-suspender takes
// their memory off the GPUs, and the same brings it back. Whatever does not work leaves them as they were before.
#include "daemon/suspension.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"
#include "daemon/exclusion.h"
#include "daemon/exported.h"
#include "daemon/figures.h"
#include "daemon/suspender.h"
#include "daemon/worker_process.h"

enum {
    TICK_MS = 250,
    RETRY_MS = 1000,
    IDLE_LOCK_MS =
        100, // for which the calls of a session that is not idle after all may have to wait
    MEMBERS_MAX = 1024,
    ROOM_TO_SPARE = 32 << 20,      // that the driver may want besides
    HELPER_MS = 5000,              // for rgpu-suspender to start, beside what it does
    SLOW_BYTES_PER_MS = 256 << 10, // an H100's driver moves five times as much
};

struct suspension {
    TAILQ_ENTRY(suspension) link;
    struct box *box;
    char lease[128];
    uint64_t session; // where that has no name
    enum suspension_state state;
    enum suspension_cause cause;
    bool away_wanted; // else it is to come back
    uint32_t number;  // of the pause
    struct suspender *helper;
    uint64_t bytes;                   // of the images
    uint64_t needed[BOX_DEVICES_MAX]; // of each GPU, to come back
    int64_t since_ms, retry_ms;
    char problem[256]; // of the last step that did not work
    struct event *tick;
};

static const char *const state_words[] = {
    [SUSPENSION_NONE] = "running",        [SUSPENSION_PAUSING] = "pausing",
    [SUSPENSION_LEAVING] = "leaving",     [SUSPENSION_AWAY] = "suspended",
    [SUSPENSION_RETURNING] = "returning", [SUSPENSION_UNCLEAR] = "unclear",
};

static size_t members(const struct suspension *s, struct worker_process **list);

static void move(struct suspension *s, enum suspension_state state)
{
    struct worker_process *list[MEMBERS_MAX];
    size_t count = members(s, list);

    log_info("lease=%s session=%llu suspension=%s was=%s bytes=%llu%s%s%s",
             *s->lease ? s->lease : "none", (unsigned long long)s->session, state_words[state],
             state_words[s->state], (unsigned long long)s->bytes, *s->problem ? " reason=\"" : "",
             s->problem, *s->problem ? "\"" : "");
    for (size_t i = 0; i < count; i++)
        list[i]->pause.away = state == SUSPENSION_AWAY;
    s->state = state;
    s->since_ms = clock_ms();
    s->box->suspension_changes++;
    box_changed(s->box);
}

// ---- whose it is ----

static bool is_member(const struct suspension *s, const struct worker_process *worker)
{
    const struct session_record *session = &worker->session;

    return worker->state == WORKER_SERVING && session->id &&
           (*s->lease ? !strcmp(session->grant.lease, s->lease) : session->id == s->session);
}

static struct suspension *find_of(const struct worker_process *worker)
{
    struct suspension *s;

    TAILQ_FOREACH(s, &worker->box->suspensions, link)
        if (is_member(s, worker))
            return s;
    return NULL;
}

// A number names a session that has no lease.
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

static struct suspension *find(const struct box *box, const char *name)
{
    struct suspension *s;
    char *end;
    unsigned long long number = strtoull(name, &end, 10);

    TAILQ_FOREACH(s, &box->suspensions, link)
        if (*s->lease ? !strcmp(s->lease, name) : end != name && !*end && s->session == number)
            return s;
    return NULL;
}

static size_t members(const struct suspension *s, struct worker_process **list)
{
    struct worker_process *worker;
    size_t count = 0;

    TAILQ_FOREACH(worker, &s->box->workers, link)
        if (is_member(s, worker) && count < MEMBERS_MAX)
            list[count++] = worker;
    return count;
}

const char *suspension_word(const struct worker_process *worker)
{
    const struct suspension *s = find_of(worker);

    return !s || s->state == SUSPENSION_NONE                ? NULL
           : s->state == SUSPENSION_AWAY && !s->away_wanted ? "waits for memory"
                                                            : state_words[s->state];
}

bool suspension_delays(struct box *box, const struct session_grant *grant)
{
    struct suspension *s = *grant->lease ? find(box, grant->lease) : NULL;

    if (!s || s->state == SUSPENSION_NONE)
        return false;
    if (s->cause == SUSPENSION_IDLE)
        s->away_wanted = false;
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

static bool has_device(const struct session_grant *grant, const struct box_device *device)
{
    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i] == device)
            return true;
    return false;
}

unsigned suspension_sessions(const struct box *box, const struct box_device *device)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        count += worker->pause.away && (!device || has_device(&worker->session.grant, device));
    return count;
}

json_t *suspension_show(const struct box *box, const char *name)
{
    const struct suspension *s = find(box, name);

    if (!s)
        return NULL;
    return json_pack("{s:s, s:I, s:s, s:b, s:I, s:f, s:s}", "lease", s->lease, "session",
                     (json_int_t)s->session, "state", state_words[s->state], "returns",
                     !s->away_wanted, "bytes", (json_int_t)s->bytes, "seconds",
                     (double)(clock_ms() - s->since_ms) / 1000, "reason", s->problem);
}

// ---- the box's memory ----

static uint64_t machine_memory(const char *row)
{
    char line[128], format[64];
    unsigned long long kilobytes = 0;
    SCOPED_FILE FILE *file = fopen("/proc/meminfo", "re");

    snprintf(format, sizeof(format), "%s: %%llu kB", row);
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, format, &kilobytes) == 1)
            break;
    return (uint64_t)kilobytes << 10;
}

static uint64_t image_bytes(const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    uint64_t bytes = figures_session_bytes(worker), account = worker->session.stats.memory;

    for (uint32_t i = 0; i < grant->device_count; i++)
        account += grant->devices[i]->info.context_cost;
    return bytes > account ? bytes : account;
}

static uint64_t image_bytes_of_all(const struct suspension *s)
{
    struct worker_process *list[MEMBERS_MAX];
    size_t count = members(s, list);
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += image_bytes(list[i]);
    return bytes;
}

// Of what the others have left.
static int check_room(struct suspension *s, char *text, size_t room)
{
    const struct box *box = s->box;
    uint64_t limit = box->settings.suspend_memory, bytes = image_bytes_of_all(s);

    s->bytes = 0;
    uint64_t held = suspension_bytes(box);
    uint64_t available = machine_memory("MemAvailable");

    if (!limit)
        limit = machine_memory("MemTotal") / 2;
    if (held + bytes > limit) {
        snprintf(
            text, room,
            "its memory, %llu MiB, does not fit: suspend_memory allows images of %llu MiB on this box, "
            "of which %llu MiB are taken",
            (unsigned long long)bytes >> 20, (unsigned long long)limit >> 20,
            (unsigned long long)held >> 20);
        return -ENOSPC;
    }
    if (available && bytes > available) {
        snprintf(text, room,
                 "its memory, %llu MiB, does not fit: the box has %llu MiB of memory left",
                 (unsigned long long)bytes >> 20, (unsigned long long)available >> 20);
        return -ENOSPC;
    }
    s->bytes = bytes;
    return 0;
}

// What the driver (580) does not bring back as it was is not taken away: handles of what is shared are another
// process's memory afterwards, or nobody's.
static const char *objection(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (exports_has_any(list[i]))
            return "it shares memory or events with other processes (cuIpc*, cuMemExportToShareableHandle), which "
                   "the driver does not bring back";
    return NULL;
}

// ---- ends ----

static void release(struct suspension *s)
{
    TAILQ_REMOVE(&s->box->suspensions, s, link);
    suspender_abandon(&s->helper);
    if (s->tick)
        event_free(s->tick);
    free(s);
}

static void tell_workers(const struct suspension *s, bool pause)
{
    struct worker_process *list[MEMBERS_MAX];
    size_t count = members(s, list);

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

// They run as if nothing had been; WHY is kept for those who ask.
static void stay(struct suspension *s, const char *why)
{
    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->bytes = 0;
    tell_workers(s, false);
    move(s, SUSPENSION_NONE);
}

static void lose(struct suspension *s, const char *why)
{
    struct worker_process *list[MEMBERS_MAX];
    size_t count = members(s, list);
    char text[400];

    snprintf(text, sizeof(text), "the session was lost as it was suspended or resumed: %.256s",
             why);
    log_error("lease=%s sessions=%zu lost error=\"%s\"", s->lease, count, why);
    for (size_t i = 0; i < count; i++)
        worker_end(list[i], CONTROL_END_REASON_SUSPENDED, text);
    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->bytes = 0;
    move(s, SUSPENSION_NONE);
}

// ---- steps ----

// The driver may do what it was asked for although nobody waits for the answer any more. So it is asked how far it came,
// again and again, and nothing is given up that could be found.
static void doubt(struct suspension *s, const char *why)
{
    snprintf(s->problem, sizeof(s->problem), "%s", why);
    s->retry_ms = 0;
    log_error("lease=%s session=%llu nobody knows whether it is suspended reason=\"%s\"",
              *s->lease ? s->lease : "none", (unsigned long long)s->session, why);
    move(s, SUSPENSION_UNCLEAR);
}

static void is_settled(void *argument, enum suspender_outcome outcome, const char *text)
{
    struct suspension *s = argument;
    char why[sizeof(s->problem)];

    s->helper = NULL;
    s->retry_ms = clock_ms() + RETRY_MS;
    snprintf(why, sizeof(why), "%.200s; it runs on", s->problem);
    if (outcome == SUSPENDER_DONE)
        stay(s, s->away_wanted ? why : "");
    else if (outcome == SUSPENDER_LATER)
        move(s, SUSPENSION_AWAY);
    else if (outcome == SUSPENDER_LOST)
        lose(s, text);
    else
        log_debug("lease=%s is still in doubt reason=\"%s\"", s->lease, text);
}

static void is_away(void *argument, enum suspender_outcome outcome, const char *text)
{
    struct suspension *s = argument;

    s->helper = NULL;
    *s->problem = '\0';
    if (outcome == SUSPENDER_DONE)
        move(s, SUSPENSION_AWAY);
    else if (outcome == SUSPENDER_LOST)
        lose(s, text);
    else if (outcome == SUSPENDER_UNKNOWN)
        doubt(s, text);
    else
        stay(s, text);
}

static void is_back(void *argument, enum suspender_outcome outcome, const char *text)
{
    struct suspension *s = argument;

    s->helper = NULL;
    snprintf(s->problem, sizeof(s->problem), "%s", text);
    if (outcome == SUSPENDER_DONE) {
        stay(s, "");
    } else if (outcome == SUSPENDER_LOST) {
        lose(s, text);
    } else if (outcome == SUSPENDER_UNKNOWN) {
        doubt(s, text);
    } else {
        // What finds no room waits for it; what does not go at all is for a person to look at.
        s->away_wanted |= outcome == SUSPENDER_FAILED;
        s->retry_ms = clock_ms() + RETRY_MS;
        move(s, SUSPENSION_AWAY);
    }
}

static int start_helper(struct suspension *s, const char *what, const char *detail,
                        suspender_ended *ended)
{
    struct worker_process *list[MEMBERS_MAX];
    size_t count = members(s, list);
    pid_t pids[MEMBERS_MAX];

    for (size_t i = 0; i < count; i++)
        pids[i] = list[i]->pid;
    // Each of them may take suspend_timeout to be locked.
    int64_t limit = HELPER_MS + (int64_t)(s->box->settings.suspend_timeout / 1000 * (count + 1) +
                                          s->bytes / SLOW_BYTES_PER_MS);
    return suspender_start(s->box, what, detail, pids, count, limit, ended, s, &s->helper);
}

// As far as it is known: of a GPU whose figures nobody tells, rgpu-suspender finds out.
static void note_needs(struct suspension *s, struct worker_process **list, size_t count)
{
    memset(s->needed, 0, sizeof(s->needed));
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < s->box->device_count; j++)
            s->needed[j] += list[i]->driver_bytes[j];
}

static void take_away(struct suspension *s, struct worker_process **list, size_t count)
{
    char milliseconds[24];
    const char *why = objection(list, count);

    if (why) {
        stay(s, why);
        return;
    }
    note_needs(s, list, count);

    snprintf(milliseconds, sizeof(milliseconds), "%llu",
             s->cause == SUSPENSION_IDLE
                 ? (unsigned long long)IDLE_LOCK_MS
                 : (unsigned long long)s->box->settings.suspend_timeout / 1000);
    int err = start_helper(s, "suspend", milliseconds, is_away);
    if (err)
        stay(s, strerror(-err));
    else
        move(s, SUSPENSION_LEAVING);
}

// A GPU that another lease has for itself, or that it cannot share with this one, is not there for it.
static const char *gpu_is_taken(const struct suspension *s)
{
    struct worker_process *list[MEMBERS_MAX];
    size_t count = members(s, list);

    for (size_t i = 0; i < count; i++)
        if (exclusion_find(s->box, &list[i]->session.grant))
            return "its GPU is in use by another lease, beside which it cannot be used";
    return NULL;
}

// A process that is restored while there is no room is lost (driver 580), so that nobody tries.
static const char *gpu_is_full(const struct suspension *s)
{
    for (uint32_t i = 0; i < s->box->device_count; i++) {
        const struct box_device *device = &s->box->devices[i];
        if (s->needed[i] && device->library_memory &&
            device->driver_bytes + s->needed[i] + ROOM_TO_SPARE > device->library_memory)
            return "the memory of its GPU is taken";
    }
    return NULL;
}

static void bring_back(struct suspension *s)
{
    const char *taken = gpu_is_taken(s);

    taken = taken ? taken : gpu_is_full(s);

    if (clock_ms() < s->retry_ms)
        return;
    if (taken) {
        snprintf(s->problem, sizeof(s->problem), "%s", taken);
        s->retry_ms = clock_ms() + RETRY_MS;
        return;
    }
    int err = start_helper(s, "resume", "-", is_back);
    if (!err) {
        move(s, SUSPENSION_RETURNING);
        return;
    }
    snprintf(s->problem, sizeof(s->problem), "%s", strerror(-err));
    s->retry_ms = clock_ms() + RETRY_MS;
}

static bool all_rest(const struct suspension *s, struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.number != s->number)
            return false;
    return true;
}

static bool any_calls(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.called_ms)
            return true;
    return false;
}

static void review_pause(struct suspension *s, struct worker_process **list, size_t count)
{
    bool late = clock_ms() - s->since_ms > (int64_t)(s->box->settings.suspend_timeout / 1000);
    char text[256];

    if (!s->away_wanted)
        stay(s, "it was resumed before it was suspended");
    else if (all_rest(s, list, count) && s->cause == SUSPENSION_IDLE && any_calls(list, count))
        stay(s, "it is not idle any more");
    else if (all_rest(s, list, count) && check_room(s, text, sizeof(text)))
        stay(s, text); // they have more than was known
    else if (all_rest(s, list, count))
        take_away(s, list, count);
    else if (late)
        stay(
            s,
            "copies or kernels that wait for the client, or for another box, do not come to an end");
}

// A program that waits for an answer for longer than the site wants learns why it gets none.
static void end_waiting(struct suspension *s, struct worker_process **list, size_t count)
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
    if (s->cause == SUSPENSION_IDLE && any_calls(list, count))
        s->away_wanted = false;
    if (s->away_wanted)
        end_waiting(s, list, count);
    else
        bring_back(s);
}

static void review_doubt(struct suspension *s, struct worker_process **list, size_t count)
{
    end_waiting(s, list, count);
    if (s->helper || clock_ms() < s->retry_ms)
        return;
    if (start_helper(s, "settle", "-", is_settled))
        s->retry_ms = clock_ms() + RETRY_MS;
}

// False: it is over.
static bool review(struct suspension *s)
{
    struct worker_process *list[MEMBERS_MAX];
    size_t count = members(s, list);

    // Without sessions nothing is away. A lease stays suspended for those that it begins later.
    if (!count && !s->helper && (!*s->lease || !s->away_wanted || s->state == SUSPENSION_NONE)) {
        release(s);
        return false;
    }
    if (!count && !s->helper) {
        s->bytes = 0;
        if (s->state != SUSPENSION_AWAY)
            move(s, SUSPENSION_AWAY);
        return true;
    }
    switch (s->state) {
    case SUSPENSION_PAUSING: review_pause(s, list, count); break;
    case SUSPENSION_AWAY: review_away(s, list, count); break;
    case SUSPENSION_UNCLEAR: review_doubt(s, list, count); break;
    case SUSPENSION_NONE:
    case SUSPENSION_LEAVING:
    case SUSPENSION_RETURNING: break;
    }
    return true;
}

static void suspend_idle(struct box *box);

void suspension_review(struct box *box)
{
    struct suspension *s, *next;

    if (box->settings.idle_suspend)
        suspend_idle(box);
    for (s = TAILQ_FIRST(&box->suspensions); s; s = next) {
        next = TAILQ_NEXT(s, link);
        review(s);
    }
}

// ---- orders ----

static bool is_idle(const struct worker_process *worker)
{
    struct figure busy = figures_session_utilization(worker);
    int64_t since = clock_ms() - worker->active_ms;

    return since >= (int64_t)(worker->box->settings.idle_suspend / 1000) &&
           (!busy.known || !busy.value);
}

static bool all_idle(const struct box *box, const char *lease)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_SERVING && !strcmp(worker->session.grant.lease, lease) &&
            !is_idle(worker))
            return false;
    return true;
}

// What cannot be suspended for want of memory is tried again as late as what was not idle after all.
static void suspend_idle(struct box *box)
{
    struct worker_process *worker;
    char number[24], text[320];

    TAILQ_FOREACH(worker, &box->workers, link) {
        const char *lease = worker->session.grant.lease;
        if (worker->state != WORKER_SERVING || suspension_word(worker) || !is_idle(worker) ||
            (*lease && !all_idle(box, lease)))
            continue;
        snprintf(number, sizeof(number), "%llu", (unsigned long long)worker->session.id);
        worker->active_ms = clock_ms();
        if (suspension_begin(box, *lease ? lease : number, SUSPENSION_IDLE, text, sizeof(text)))
            log_info("session=%s lease=%s is idle and is not suspended reason=\"%s\"", number,
                     lease, text);
    }
}

static void look_again(evutil_socket_t fd, short events, void *argument)
{
    box_changed(argument);
}

int suspension_open(struct box *box)
{
    const struct timeval interval = {.tv_sec = 1};

    box->idle_tick = event_new(box->base, -1, EV_PERSIST, look_again, box);
    return box->idle_tick && !event_add(box->idle_tick, &interval) ? 0 : -ENOMEM;
}

static struct suspension *add(struct box *box, const char *lease, uint64_t session)
{
    const struct timeval interval = {.tv_usec = TICK_MS * 1000};
    struct suspension *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->box = box;
    s->session = session;
    snprintf(s->lease, sizeof(s->lease), "%s", lease);
    TAILQ_INSERT_TAIL(&box->suspensions, s, link);
    s->tick = event_new(box->base, -1, EV_PERSIST, look_again, box);
    if (!s->tick || event_add(s->tick, &interval)) {
        release(s);
        return NULL;
    }
    return s;
}

static bool is_known_lease(const struct box *box, const char *name)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id && !strcmp(worker->session.grant.lease, name))
            return true;
    return false;
}

static int begin(struct suspension *s, char *text, size_t room)
{
    int err = check_room(s, text, room);

    if (err) {
        snprintf(s->problem, sizeof(s->problem), "%.255s", text);
        s->box->suspension_changes++;
        return err;
    }
    *s->problem = '\0';
    s->number = ++s->box->pauses;
    move(s, SUSPENSION_PAUSING);
    tell_workers(s, true);
    return 0;
}

int suspension_begin(struct box *box, const char *name, enum suspension_cause cause, char *text,
                     size_t room)
{
    struct suspension *s = find(box, name);
    uint64_t session = session_number(box, name);

    if (!s && !session && cause == SUSPENSION_IDLE && !is_known_lease(box, name))
        return -ENOENT;
    if (!s)
        s = add(box, session ? "" : name, session);
    if (!s) {
        snprintf(text, room, "out of memory");
        return -ENOMEM;
    }
    s->cause = cause;
    s->away_wanted = true;
    return s->state == SUSPENSION_NONE ? begin(s, text, room) : 0;
}

int suspension_end(struct box *box, const char *name)
{
    struct suspension *s = find(box, name);

    if (!s || s->state == SUSPENSION_NONE)
        return -ENOENT;
    s->away_wanted = false;
    s->retry_ms = 0;
    box_changed(box);
    return 0;
}

static bool names(const json_t *list, const char *lease)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name && !strcmp(name, lease))
            return true;
    }
    return false;
}

// What could not be suspended is known to the broker once it does not name it any more.
static void end_those_left_out(struct box *box, const json_t *list)
{
    struct suspension *s, *next;

    for (s = TAILQ_FIRST(&box->suspensions); s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->cause != SUSPENSION_OF_POOL || names(list, s->lease))
            continue;
        s->away_wanted = false;
        s->retry_ms = 0;
        if (s->state == SUSPENSION_NONE)
            release(s);
    }
}

void suspension_adopt(struct box *box, const json_t *list)
{
    char text[320];

    if (!json_is_array(list))
        return;
    end_those_left_out(box, list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *lease = json_string_value(json_array_get(list, i));
        const struct suspension *known = lease ? find(box, lease) : NULL;
        if (!lease || !*lease || strlen(lease) >= sizeof(known->lease) ||
            (known && known->cause == SUSPENSION_OF_POOL && known->away_wanted))
            continue;
        if (suspension_begin(box, lease, SUSPENSION_OF_POOL, text, sizeof(text)))
            log_info("lease=%s is not suspended reason=\"%s\"", lease, text);
    }
    box_changed(box);
}

json_t *suspension_report(const struct box *box)
{
    json_t *list = json_array();
    const struct suspension *s;

    TAILQ_FOREACH(s, &box->suspensions, link)
        if (s->cause == SUSPENSION_OF_POOL)
            json_array_append_new(list, suspension_show(box, s->lease));
    return list;
}

void suspension_forget(struct box *box, const char *lease)
{
    struct suspension *s = find(box, lease);

    if (s)
        s->away_wanted = false;
}

void suspension_close_all(struct box *box)
{
    while (!TAILQ_EMPTY(&box->suspensions))
        release(TAILQ_FIRST(&box->suspensions));
    if (box->idle_tick)
        event_free(box->idle_tick);
    box->idle_tick = NULL;
}

// ---- what workers say ----

int suspension_paused(struct worker_process *worker, const struct control_paused *paused)
{
    const struct suspension *s = find_of(worker);

    if (!worker->session.id)
        return -EPROTO;
    // Of one that has been taken back meanwhile.
    if (!s || s->number != paused->number || s->state != SUSPENSION_PAUSING)
        return 0;
    worker->pause.number = paused->number;
    worker->session.stats.memory = paused->memory;
    if (paused->executing)
        worker->pause.called_ms = clock_ms();
    return 0;
}

int suspension_called(struct worker_process *worker, const struct control_called *called)
{
    const struct suspension *s = find_of(worker);

    if (!worker->session.id)
        return -EPROTO;
    if (s && s->number == called->number && !worker->pause.called_ms)
        worker->pause.called_ms = clock_ms();
    return 0;
}
