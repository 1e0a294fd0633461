// SPDX-License-Identifier: BSD-3-Clause
// Worker processes: started with one socket to us, followed until they are reaped.
#include "daemon/worker_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/spawn.h"
#include "daemon/accounts.h"
#include "daemon/refusals.h"
#include "daemon/warm_pool.h"
#include "daemon/worker_output.h"
#include "daemon/worker_spawn.h"

enum {
    LASTING_MS = 60000,
    MESSAGES_PER_TURN = 8,
    MESSAGES_PER_SECOND = 10,
    MESSAGES_AT_ONCE = 200,
};

static const char *const state_names[] = {
    [WORKER_STARTING] = "starting", [WORKER_WARM] = "warm", [WORKER_SERVING] = "serving",
    [WORKER_ENDING] = "ending",     [WORKER_DEAD] = "dead",
};

const char *worker_state_name(enum worker_state state)
{
    return state_names[state];
}

static void count(struct worker_process *worker, int direction)
{
    struct warm_pool *pool = warm_pool_of(worker->box, worker->device);

    switch (worker->state) {
    case WORKER_STARTING:
        pool->starting += (unsigned)direction;
        break;
    case WORKER_WARM:
        pool->warm += (unsigned)direction;
        break;
    case WORKER_ENDING:
        // Its place stays taken until it is known how it ended, lest its successor start too soon.
        if (!worker->session.id && !worker->asked_to_end)
            pool->dying += (unsigned)direction;
        break;
    case WORKER_SERVING:
    case WORKER_DEAD:
        break;
    }
}

static void worker_move(struct worker_process *worker, enum worker_state state)
{
    log_debug("worker pid=%d state=%s was=%s", (int)worker->pid, state_names[state],
              state_names[worker->state]);
    count(worker, -1);
    worker->state = state;
    count(worker, +1);
}

static void start_timer(struct worker_process *worker, uint64_t microseconds)
{
    struct timeval delay = {.tv_sec = (time_t)(microseconds / 1000000),
                            .tv_usec = (suseconds_t)(microseconds % 1000000)};

    if (worker->deadline)
        evtimer_add(worker->deadline, &delay);
}

void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text)
{
    struct control_end end = {.reason = reason};

    if (worker->state == WORKER_ENDING || worker->state == WORKER_DEAD)
        return;
    snprintf(end.text, sizeof(end.text), "%s", text);
    snprintf(worker->reason, sizeof(worker->reason), "%s", text);
    worker->asked_to_end = true;
    // A worker that does not listen any more is killed when the grace time is over.
    if (control_send_packet(worker->control_fd, CONTROL_END, &end, -1))
        log_debug("worker pid=%d does not take the request to end", (int)worker->pid);
    worker_move(worker, WORKER_ENDING);
    start_timer(worker, worker->box->settings.worker_stop_grace);
}

static void kill_now(struct worker_process *worker, const char *reason)
{
    if (!*worker->reason)
        snprintf(worker->reason, sizeof(worker->reason), "%s", reason);
    if (worker->state != WORKER_ENDING)
        worker_move(worker, WORKER_ENDING);
    kill(worker->pid, SIGKILL);
}

static void deadline_passed(evutil_socket_t fd, short events, void *opaque)
{
    struct worker_process *worker = opaque;

    if (worker->state == WORKER_STARTING)
        kill_now(worker, "not ready within worker_start_timeout");
    else if (worker->state == WORKER_ENDING)
        kill_now(worker, "did not end when asked to");
}

// ---- what a worker says ----

static int adopt_devices(struct worker_process *worker, const struct control_ready *ready)
{
    struct box *box = worker->box;
    uint32_t ordinal = box->choice.all ? 0 : box->choice.ordinals[0];

    if (!box->devices_known && box_adopt_inventory(box, ready))
        return -ENODEV;
    if (!worker->device) {
        count(worker, -1);
        for (uint32_t i = 0; i < box->device_count; i++)
            if (box->devices[i].ordinal == ordinal)
                worker->device = &box->devices[i];
        count(worker, +1);
        // It reaches everything; that is right only where all of it is offered.
        if (box->device_count == ready->devices_count)
            worker->sees = box_device_set_all(box);
    }
    return worker->device ? 0 : -ENODEV;
}

static int take_ready(struct worker_process *worker, const struct control_ready *ready)
{
    struct box *box = worker->box;

    if (worker->state != WORKER_STARTING)
        return -EPROTO;
    if (adopt_devices(worker, ready)) {
        kill_now(worker, "the chosen devices are not there");
        return 0;
    }
    struct box_device *device = worker->device;
    uint64_t cost = device->ordinal < ready->devices_count
                        ? ready->devices[device->ordinal].context_cost
                        : 0;
    // Whoever starts at the same time can only add to what is measured.
    if (!device->measured || cost < device->info.context_cost) {
        device->info.context_cost = cost;
        device->measured = true;
        box->description++;
    }
    evtimer_del(worker->deadline);
    worker_move(worker, WORKER_WARM);
    log_info("worker ready pid=%d device=%u took_ms=%lld context_cost=%llu", (int)worker->pid,
             device->ordinal, (long long)(clock_ms() - worker->started_ms),
             (unsigned long long)device->info.context_cost);
    if (!box_accepts_sessions(box))
        worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box takes no new sessions");
    return 0;
}

static int take_stats(struct worker_process *worker, const struct control_stats *stats)
{
    struct session_record *session = &worker->session;

    if (!session->id)
        return -EPROTO;
    if (strcmp(stats->transport, session->stats.transport))
        log_info("session=%llu transport=%s reason=\"%s\"", (unsigned long long)session->id,
                 stats->transport, stats->reason);
    session->stats = *stats;
    return 0;
}

static int take_message(struct worker_process *worker, const struct control_frame *frame)
{
    SCOPED_FREE union control_message *message = malloc(sizeof(*message));
    int err = -ENOMEM;

    if (!message)
        return err;
    switch (frame->header.type) {
    case CONTROL_READY:
        err = control_decode(frame, CONTROL_READY, message);
        if (!err)
            err = take_ready(worker, &message->ready);
        break;
    case CONTROL_FAILED:
        err = control_decode(frame, CONTROL_FAILED, message);
        if (!err)
            snprintf(worker->reason, sizeof(worker->reason), "%s", message->failed.text);
        break;
    case CONTROL_STATS:
        err = control_decode(frame, CONTROL_STATS, message);
        if (!err)
            err = take_stats(worker, &message->stats);
        break;
    case CONTROL_ENDED:
        err = control_decode(frame, CONTROL_ENDED, message);
        if (!err) {
            worker->session.ended = true;
            worker->session.end = message->ended;
        }
        break;
    default:
        err = -EPROTO;
    }
    return err;
}

// A worker says what changed once a second, and a few words at its beginning and end. One that says more is
// broken or hostile, and must not keep us from the others: there is a bound on what is taken in one turn, and
// what comes faster than it may for long enough ends the worker.
static bool floods(struct worker_process *worker)
{
    int64_t now = clock_ms();
    int64_t earned = (now - worker->allowance_ms) * MESSAGES_PER_SECOND / 1000;

    if (earned > 0) {
        worker->allowance += earned < MESSAGES_AT_ONCE ? earned : MESSAGES_AT_ONCE;
        worker->allowance_ms = now;
    }
    if (worker->allowance > MESSAGES_AT_ONCE)
        worker->allowance = MESSAGES_AT_ONCE;
    return --worker->allowance < 0;
}

// Takes up to MOST messages that are there. 0: there may be more, -EAGAIN: there is no more, else why it
// is over.
static int take_messages(struct worker_process *worker, int most)
{
    struct control_frame frame = {0};
    int err = 0, passed;

    while (!err && most-- > 0) {
        err = control_receive_packet(worker->control_fd, &frame, &passed);
        if (!err && passed >= 0)
            close(passed);
        if (!err)
            err = floods(worker) ? -EDQUOT : take_message(worker, &frame);
    }
    control_frame_free(&frame);
    return err;
}

static void control_readable(evutil_socket_t fd, short events, void *opaque)
{
    struct worker_process *worker = opaque;
    struct box *box = worker->box;
    int err = take_messages(worker, MESSAGES_PER_TURN);

    if (!err || err == -EAGAIN) {
        box_changed(box);
        return;
    }
    event_del(worker->readable);
    if (err == -ECONNRESET) {
        // Usually it has just exited; a worker that only closed its socket gets the grace time.
        if (worker->state != WORKER_ENDING) {
            worker_move(worker, WORKER_ENDING);
            start_timer(worker, box->settings.worker_stop_grace);
        }
    } else if (err == -EDQUOT) {
        log_error("worker pid=%d floods rgpud with messages", (int)worker->pid);
        kill_now(worker, "flooded rgpud with messages");
    } else {
        log_error("worker pid=%d broke the protocol error=\"%s\"", (int)worker->pid,
                  strerror(-err));
        kill_now(worker, "broke the protocol with rgpud");
    }
    box_changed(box);
}

// ---- starting ----

static struct worker_process *worker_new(struct box *box, struct box_device *device, int control_fd, pid_t pid)
{
    struct worker_process *worker = calloc(1, sizeof(*worker));

    if (!worker)
        return NULL;
    worker->box = box;
    worker->device = device;
    worker->pid = pid;
    worker->control_fd = control_fd;
    worker->started_ms = worker->allowance_ms = clock_ms();
    worker->allowance = MESSAGES_AT_ONCE;
    worker->readable =
        event_new(box->base, control_fd, EV_READ | EV_PERSIST, control_readable, worker);
    worker->deadline = evtimer_new(box->base, deadline_passed, worker);
    if (!worker->readable || !worker->deadline || event_add(worker->readable, NULL)) {
        if (worker->readable)
            event_free(worker->readable);
        if (worker->deadline)
            event_free(worker->deadline);
        free(worker);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&box->workers, worker, link);
    count(worker, +1);
    start_timer(worker, box->settings.worker_start_timeout);
    return worker;
}

static int fail_start(struct box *box, struct box_device *device, int err)
{
    char reason[512];

    snprintf(reason, sizeof(reason), "cannot start %.400s: %s", box->worker_path, strerror(-err));
    warm_pool_start_failed(box, device, reason);
    return err;
}

static void misbehaves(void *opaque, const char *reason)
{
    kill_now(opaque, reason);
}

static bool is_used(const struct box *box, uid_t user)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->user == user)
            return true;
    return false;
}

// A user that no living worker has; 0: workers stay who we are.
static uid_t choose_user(struct box *box)
{
    uid_t range = box->last_user - box->first_user + 1;

    if (!box->first_user)
        return 0;
    // Each one's turn comes late, so that what a worker left behind, if ever it could, is nobody's.
    for (uid_t i = 0; i < range; i++) {
        uid_t user = box->first_user + box->next_user++ % range;
        if (!is_used(box, user))
            return user;
    }
    return box->first_user + box->next_user++ % range;
}

int worker_start(struct box *box, struct box_device *device, device_set sees)
{
    const struct worker_part part = {
        .ordinal = device ? device->ordinal : box->choice.all ? 0 : box->choice.ordinals[0],
        .sees = sees,
        .user = choose_user(box),
    };
    struct worker_ends ours = {-1, -1, -1}, theirs = {-1, -1, -1};
    pid_t pid;

    int err = worker_ends_make(&ours, &theirs);
    if (err)
        return fail_start(box, device, err);
    err = worker_spawn(box, &part, &ours, &theirs, &pid);
    worker_ends_close(&theirs);
    if (err) {
        worker_ends_close(&ours);
        return fail_start(box, device, err);
    }
    struct worker_process *worker = worker_new(box, device, ours.control, pid);
    if (!worker) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        worker_ends_close(&ours);
        return fail_start(box, device, -ENOMEM);
    }
    worker->sees = sees;
    worker->user = part.user;
    // Without it refused calls fail all the same, unnamed.
    worker->refusals = refusals_new(box->base, ours.refusals, pid, box->settings.worker.worker_filter == CONTROL_WORKER_FILTER_LOG,
                                    misbehaves, worker);
    worker->output = worker_output_new(box->base, ours.output, pid, misbehaves, worker);
    log_debug("worker started pid=%d device=%u user=%u", (int)pid, part.ordinal,
              (unsigned)part.user);
    return 0;
}

// ---- sessions ----

struct worker_process *worker_find_warm(struct box *box, const struct box_device *device, device_set sees)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_WARM && worker->device == device && worker->sees == sees)
            return worker;
    return NULL;
}

int worker_grant(struct worker_process *worker, const struct control_grant *grant, int client_fd,
                 int account_fd)
{
    int fds[] = {client_fd, account_fd};
    int err = control_send_packet_with(worker->control_fd, CONTROL_GRANT, grant, fds,
                                       account_fd >= 0 ? 2 : 1);

    if (err) {
        log_warn("worker pid=%d does not take a session error=\"%s\"", (int)worker->pid,
                 strerror(-err));
        kill_now(worker, "did not take a session");
        return err;
    }
    worker_move(worker, WORKER_SERVING);
    if (worker->refusals)
        refusals_serving(worker->refusals);
    worker->device->pool.failures = 0;
    worker->box->session_count++;
    worker->box->sessions_total++;
    return 0;
}

// ---- the end ----

static void write_obituary(const struct worker_process *worker, int status)
{
    const struct session_record *session = &worker->session;
    const char *why = *worker->reason ? worker->reason : "no reason given";
    bool expected = WIFEXITED(status) && !WEXITSTATUS(status);
    char how[128];

    spawn_describe_status(status, how, sizeof(how));
    if (!session->id) {
        log_at(expected || worker->state == WORKER_ENDING ? LOG_LEVEL_INFO : LOG_LEVEL_WARN,
               "worker ended pid=%d state=%s how=\"%s\" reason=\"%s\"", (int)worker->pid,
               state_names[worker->state], how, why);
        return;
    }
    if (session->ended)
        why = *session->end.text ? session->end.text : control_end_reason_name(session->end.reason);
    else if (!*worker->reason)
        why = "the worker died without a word";
    log_at(expected && session->ended ? LOG_LEVEL_INFO : LOG_LEVEL_WARN,
           "session=%llu ended pid=%d client=\"%s\" peer=%s how=\"%s\" reason=\"%s\" "
           "transport=%s seconds=%lld bytes_in=%llu bytes_out=%llu calls=%llu",
           (unsigned long long)session->id, (int)worker->pid, session->client, session->peer, how,
           why, session->stats.transport,
           (long long)((clock_ms() - session->since_ms) / 1000),
           (unsigned long long)session->stats.bytes_in,
           (unsigned long long)session->stats.bytes_out,
           (unsigned long long)session->stats.calls);
}

// Workers that end before they serve anyone are started again more and more slowly. One that had
// lasted begins a new count.
static void count_failure(struct worker_process *worker, int status)
{
    char how[128];

    if (clock_ms() - worker->started_ms > LASTING_MS && worker->state != WORKER_STARTING)
        warm_pool_of(worker->box, worker->device)->failures = 0;
    spawn_describe_status(status, how, sizeof(how));
    warm_pool_start_failed(worker->box, worker->device, *worker->reason ? worker->reason : how);
}

static void bury(struct worker_process *worker, int status)
{
    struct box *box = worker->box;

    // Its last words may still be in the socket.
    (void)take_messages(worker, MESSAGES_AT_ONCE);
    if (worker->output)
        worker_output_finish(worker->output);
    write_obituary(worker, status);
    if (!worker->session.id && !worker->asked_to_end)
        count_failure(worker, status);
    if (worker->session.id) {
        box->session_count--;
        for (uint32_t i = 0; i < worker->session.grant.device_count; i++)
            worker->session.grant.devices[i]->sessions--;
        accounts_leave(box, worker->session.grant.lease, worker->session.id);
    }
    worker_move(worker, WORKER_DEAD);
    TAILQ_REMOVE(&box->workers, worker, link);
    event_free(worker->readable);
    event_free(worker->deadline);
    refusals_free(&worker->refusals);
    worker_output_free(&worker->output);
    close(worker->control_fd);
    free(worker);
}

void worker_kill_all(struct box *box)
{
    box->state = BOX_STOPPING;
    while (!TAILQ_EMPTY(&box->workers)) {
        struct worker_process *worker = TAILQ_FIRST(&box->workers);
        int status = 0;
        worker->asked_to_end = true;
        kill(worker->pid, SIGKILL);
        waitpid(worker->pid, &status, 0);
        bury(worker, status);
    }
}

void worker_reap_all(struct box *box)
{
    struct worker_process *worker, *next;

    for (worker = TAILQ_FIRST(&box->workers); worker; worker = next) {
        int status;
        next = TAILQ_NEXT(worker, link);
        if (waitpid(worker->pid, &status, WNOHANG) == worker->pid)
            bury(worker, status);
    }
    box_changed(box);
}
