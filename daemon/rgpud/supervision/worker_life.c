// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/supervision/worker_life.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/fdpass.h"
#include "common/service/helper.h"
#include "common/base/log.h"
#include "common/base/spawn.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/workers/box_calls.h"
#include "daemon/rgpud/workers/client_sockets.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/workers/mps_settings.h"
#include "daemon/rgpud/workers/refusals.h"
#include "daemon/rgpud/gpus/exported.h"
#include "daemon/rgpud/vm/vm_windows.h"
#include "daemon/rgpud/workers/warm_pool.h"
#include "daemon/rgpud/supervision/kept_session.h"
#include "daemon/rgpud/supervision/worker_messages.h"
#include "daemon/rgpud/workers/worker_output.h"
#include "daemon/rgpud/workers/worker_spawn.h"

enum { LASTING_MS = 60000, KILL_ALL_MS = 10000 };

static void worker_has_ended(void *argument, int err, int status);

// ---- starting ----

static void worker_free(struct worker_process *worker)
{
    const int sockets[] = {worker->control_fd, worker->refusals_fd};
    const int files[] = {worker->output_fd, worker->proc_fd};

    if (worker->readable)
        event_free(worker->readable);
    if (worker->deadline)
        event_free(worker->deadline);
    refusals_free(&worker->refusals);
    worker_output_free(&worker->output);
    for (int i = 0; i < 2; i++) {
        if (sockets[i] >= 0)
            fdpass_close(sockets[i]);
        if (files[i] >= 0)
            close_aside(files[i]);
    }
    client_sockets_forget(worker->box, worker->socket);
    free(worker->session.ticket);
    free(worker);
}

// Makes the record of a worker and takes ownership of the descriptors OURS.
static struct worker_process *worker_new(struct box *box, struct box_device *device,
                                         const struct worker_ends *ours)
{
    struct worker_process *worker = calloc(1, sizeof(*worker));

    if (!worker) {
        worker_ends_close(ours);
        return NULL;
    }
    worker->box = box;
    worker->device = device;
    worker->control_fd = ours->control;
    worker->refusals_fd = ours->refusals;
    worker->output_fd = ours->output;
    worker->proc_fd = -1;
    worker->started_ms = clock_ms();
    allowance_start(&worker->messages, WORKER_MESSAGES_AT_ONCE, WORKER_MESSAGES_PER_SECOND);
    allowance_start(&worker->exporting, WORKER_EXPORTS_AT_ONCE, WORKER_EXPORTS_PER_SECOND);
    allowance_start(&worker->calling, WORKER_CALLS_AT_ONCE, WORKER_CALLS_PER_SECOND);
    worker->readable =
        event_new(box->base, ours->control, EV_READ | EV_PERSIST, worker_messages_readable, worker);
    worker->deadline = evtimer_new(box->base, worker_process_late, worker);
    if (!worker->readable || !worker->deadline || event_add(worker->readable, NULL)) {
        worker_free(worker);
        return NULL;
    }
    return worker;
}

static int fail_start(struct box *box, struct box_device *device, int err)
{
    char reason[512];

    snprintf(reason, sizeof(reason), "cannot start %.400s: %s", box->worker_path, strerror(-err));
    warm_pool_start_failed(box, device, reason);
    return err;
}

static void misbehaves(void *argument, const char *reason)
{
    worker_process_kill(argument, reason);
}

static bool worker_life_is_used(const struct box *box, uid_t user)
{
    const struct worker_process *worker;

    if (mps_has_user(&box->settings, &box->users, user))
        return true;
    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->user == user)
            return true;
    return false;
}

// Returns a user that no living worker has, or 0 if workers do not change their user.
static uid_t choose_user(struct box *box)
{
    uid_t range = box->users.last - box->users.first + 1;

    if (!box->users.first)
        return 0;
    // The numbers are used in turn, so that each is reused as late as possible. Files that a worker
    // left then belong to no later worker.
    for (uid_t i = 0; i < range; i++) {
        uid_t user = box->users.first + box->next_user++ % range;
        if (!worker_life_is_used(box, user))
            return user;
    }
    return box->users.first + box->next_user++ % range;
}

// Reads the worker's output, and answers its refused calls.
static void listen_to(struct worker_process *worker)
{
    struct box *box = worker->box;
    int refusals_fd = worker->refusals_fd, output_fd = worker->output_fd;

    worker->refusals_fd = worker->output_fd = -1;
    // If memory is out, calls are still refused, but without log lines.
    if (refusals_fd >= 0)
        worker->refusals =
            refusals_new(box->base, refusals_fd, worker->pid,
                         box->settings.worker.worker_filter == CONTROL_WORKER_FILTER_LOG,
                         worker->mps ? mps_socket_directory(worker->device) : NULL, misbehaves,
                         worker);
    worker->output = worker_output_new(box->base, output_fd, worker->pid, misbehaves, worker);
}

static void has_started(void *argument, pid_t pid, const int *fds, size_t count)
{
    struct worker_process *worker = argument;

    worker->pid = pid;
    if (count > 1)
        worker->proc_fd = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
    listen_to(worker);
    log_debug("worker started pid=%d user=%u", (int)pid, (unsigned)worker->user);
}

static int order_worker(struct worker_process *worker, const struct worker_part *part,
                        const struct worker_ends *ours, struct worker_ends *theirs)
{
    const struct spawner_owner owner = {.started = has_started,
                                        .ended = worker_has_ended,
                                        .argument = worker};

    theirs->clients = client_sockets_listen(worker->box, worker->socket);
    return worker_spawn(worker->box, part, ours, theirs, &owner, &worker->number);
}

int worker_start(struct box *box, struct box_device *device, device_set sees,
                 struct mps_part limits)
{
    bool mps = mps_serves(device, sees);
    struct worker_ends ours = {-1, -1, -1, -1}, theirs = {-1, -1, -1, -1};
    int err = worker_ends_make(&ours, &theirs);
    struct worker_process *worker = err ? NULL : worker_new(box, device, &ours);

    if (err || !worker) {
        worker_ends_close(&theirs);
        return fail_start(box, device, err ? err : -ENOMEM);
    }
    const struct worker_part part = {
        .ordinal = device ? device->ordinal : box_first_ordinal(box),
        .sees = sees,
        .limits = limits,
        .mps_pipe = mps ? mps_pipe(device) : "",
        .user = mps ? mps_user(box, device->ordinal) : choose_user(box),
        .client_socket = worker->socket,
    };
    worker->sees = sees;
    worker->mps = mps;
    worker->part = limits;
    worker->user = part.user;
    err = order_worker(worker, &part, &ours, &theirs);
    worker_ends_close(&theirs);
    if (err) {
        worker_free(worker);
        return fail_start(box, device, err);
    }
    TAILQ_INSERT_TAIL(&box->workers, worker, link);
    worker_process_count(worker, +1);
    worker_process_set_timer(worker, box->settings.worker_start_timeout);
    return 0;
}

static void begin_session(struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;

    worker_process_move(worker, WORKER_SERVING);
    if (worker->refusals)
        refusals_serving(worker->refusals);
    for (uint32_t i = 0; i < grant->device_count; i++)
        grant->devices[i]->sessions++;
    worker->box->session_count++;
    worker->box->sessions_total++;
}

static void forget_session(struct worker_process *worker)
{
    free(worker->session.ticket);
    worker->session = (struct session_record){0};
    worker->resumes = (struct expected_call){0};
    memset(worker->expects, 0, sizeof(worker->expects));
}

// The session is stored before the worker has it, so that the next rgpud knows each session.
int worker_grant(struct worker_process *worker, const struct control_grant *grant,
                 const struct session_record *session, const int *fds, size_t count)
{
    worker->session = *session;
    worker->session.ticket = session->ticket ? strdup(session->ticket) : NULL;
    box_calls_expect_extra(worker, grant);
    kept_session_store(worker);
    int err = control_send_packet_with(worker->control_fd, CONTROL_GRANT, grant, fds, count);
    if (err) {
        log_warn("worker pid=%d does not take a session error=\"%s\"", (int)worker->pid,
                 strerror(-err));
        forget_session(worker);
        worker_process_kill(worker, "did not take a session");
        return err;
    }
    worker->device->pool.failures = 0;
    begin_session(worker);
    return 0;
}

// ---- of an earlier rgpud ----

struct worker_process *worker_take_over(struct box *box, struct box_device *device,
                                        struct spawner_kept *kept, int filter, bool mps,
                                        const struct session_record *session)
{
    const struct worker_ends ours = {.control = kept->ends[KEPT_CONTROL],
                                     .refusals = filter < 0 ? -1
                                                            : fcntl(filter, F_DUPFD_CLOEXEC, 3),
                                     .output = kept->ends[KEPT_OUTPUT],
                                     .clients = -1};
    struct worker_process *worker = worker_new(box, device, &ours);

    kept->ends[KEPT_CONTROL] = kept->ends[KEPT_OUTPUT] = -1;
    if (!worker)
        return NULL;
    const struct spawner_owner owner = {.ended = worker_has_ended, .argument = worker};
    if (!spawner_own(box, kept->number, &owner)) {
        worker_free(worker);
        return NULL;
    }
    worker->taken_over = true;
    worker->mps = mps;
    worker->number = kept->number;
    worker->pid = kept->pid;
    worker->user = kept->user;
    worker->proc_fd = kept->proc_fd;
    kept->proc_fd = -1;
    worker->active_ms = clock_ms();
    worker->session = *session;
    worker->part = session->grant.part;
    worker->sees = device_set_of(&session->grant);
    listen_to(worker);
    TAILQ_INSERT_TAIL(&box->workers, worker, link);
    worker_process_count(worker, +1);
    begin_session(worker);
    return worker;
}

// ---- the end ----

// A worker of another build cannot say so in a message that rgpud understands.
static void detect_other_build(struct worker_process *worker, int status)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) != CONTROL_WORKER_OTHER_BUILD)
        return;
    worker->box->other_build = true;
    snprintf(worker->reason, sizeof(worker->reason),
             "%.300s is of another build than rgpud and rgpu-spawner: install all three from one "
             "build and restart the services",
             worker->box->worker_path);
}

static void write_obituary(struct worker_process *worker, int status)
{
    const struct session_record *session = &worker->session;
    const char *why = *worker->reason ? worker->reason : "no reason given";
    bool expected = WIFEXITED(status) && !WEXITSTATUS(status);
    char how[128];

    spawn_describe_status(status, how, sizeof(how));
    if (!session->id) {
        log_at(expected || worker->state == WORKER_ENDING ? LOG_LEVEL_INFO : LOG_LEVEL_WARN,
               "worker ended pid=%d state=%s how=\"%s\" reason=\"%s\"", (int)worker->pid,
               worker_state_name(worker->state), how, why);
        return;
    }
    if (session->ended)
        why = *session->end.text ? session->end.text : control_end_reason_name(session->end.reason);
    else if (!*worker->reason)
        why = "the worker died without a word";
    if (!(expected && session->ended) && !worker->asked_to_end && *session->grant.lease)
        failed_sessions_add(&worker->box->failed, session->id, session->grant.lease, how, why);
    log_at(expected && session->ended ? LOG_LEVEL_INFO : LOG_LEVEL_WARN,
           "session=%llu ended pid=%d client=\"%s\" peer=%s how=\"%s\" reason=\"%s\" "
           "transport=%s seconds=%lld bytes_in=%llu bytes_out=%llu calls=%llu",
           (unsigned long long)session->id, (int)worker->pid, session->client, session->peer, how,
           why, session->stats.transport, (long long)((clock_ms() - session->since_ms) / 1000),
           (unsigned long long)session->stats.bytes_in,
           (unsigned long long)session->stats.bytes_out, (unsigned long long)session->stats.calls);
}

// Counts a worker that ended before it served. The pauses between starts grow with the count. A
// worker that lasted for some time resets the count.
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

    // Its last messages may still be in the socket.
    worker_messages_take(worker, WORKER_MESSAGES_AT_ONCE);
    if (worker->output)
        worker_output_finish(worker->output);
    detect_other_build(worker, status);
    write_obituary(worker, status);
    if (!worker->session.id && !worker->asked_to_end)
        count_failure(worker, status);
    gpu_time_leave(worker);
    if (worker->session.id) {
        box->session_count--;
        for (uint32_t i = 0; i < worker->session.grant.device_count; i++)
            worker->session.grant.devices[i]->sessions--;
        exports_leave(worker);
        overcommit_leave(worker);
        accounts_leave(box, worker->session.grant.lease, worker->session.id);
    }
    vm_windows_leave(worker);
    worker_process_move(worker, WORKER_DEAD);
    TAILQ_REMOVE(&box->workers, worker, link);
    worker_free(worker);
}

// Handles an order for which no process started.
static void bury_unborn(struct worker_process *worker, int err)
{
    struct box *box = worker->box;
    struct box_device *device = worker->device;
    bool wanted = !worker->asked_to_end;

    worker_process_move(worker, WORKER_DEAD);
    TAILQ_REMOVE(&box->workers, worker, link);
    worker_free(worker);
    if (wanted)
        fail_start(box, device, err);
}

static void worker_has_ended(void *argument, int err, int status)
{
    struct worker_process *worker = argument;
    struct box *box = worker->box;

    if (err)
        bury_unborn(worker, err);
    else
        bury(worker, status);
    box_changed(box);
}

void worker_kill_all(struct box *box)
{
    int64_t deadline = clock_ms() + KILL_ALL_MS;
    struct worker_process *worker;

    box->state = BOX_STOPPING;
    TAILQ_FOREACH(worker, &box->workers, link) {
        worker->asked_to_end = true;
        spawner_end(box, worker->number);
    }
    while ((worker = TAILQ_FIRST(&box->workers)))
        if (!spawner_await(box, worker->number, deadline)) {
            log_error("worker pid=%d does not end", (int)worker->pid);
            spawner_forget(box, worker->number);
            bury(worker, SIGKILL);
        }
}
