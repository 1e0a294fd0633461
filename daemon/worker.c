// Worker processes: started with one socket to us, followed until they are reaped.
#include "daemon/accounts.h"
#include "daemon/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/spawn.h"
#include "daemon/client.h"
#include "daemon/fabric.h"

enum { LASTING_MS = 60000 };

static const char *const state_names[] = {
    [WORKER_STARTING] = "starting", [WORKER_WARM] = "warm", [WORKER_SERVING] = "serving",
    [WORKER_ENDING] = "ending",     [WORKER_DEAD] = "dead",
};

const char *worker_state_name(enum worker_state state)
{
    return state_names[state];
}

static void count(struct worker *worker, int direction)
{
    struct pool *pool = pool_of(worker->box, worker->device);

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

static void worker_move(struct worker *worker, enum worker_state state)
{
    log_debug("worker pid=%d state=%s was=%s", (int)worker->pid, state_names[state],
              state_names[worker->state]);
    count(worker, -1);
    worker->state = state;
    count(worker, +1);
}

static void start_timer(struct worker *worker, uint64_t microseconds)
{
    struct timeval delay = {.tv_sec = (time_t)(microseconds / 1000000),
                            .tv_usec = (suseconds_t)(microseconds % 1000000)};

    if (worker->deadline)
        evtimer_add(worker->deadline, &delay);
}

void worker_end(struct worker *worker, enum control_end_reason reason, const char *text)
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

static void kill_now(struct worker *worker, const char *reason)
{
    if (!*worker->reason)
        snprintf(worker->reason, sizeof(worker->reason), "%s", reason);
    if (worker->state != WORKER_ENDING)
        worker_move(worker, WORKER_ENDING);
    kill(worker->pid, SIGKILL);
}

static void deadline_passed(evutil_socket_t fd, short events, void *opaque)
{
    struct worker *worker = opaque;

    if (worker->state == WORKER_STARTING)
        kill_now(worker, "not ready within worker_start_timeout");
    else if (worker->state == WORKER_ENDING)
        kill_now(worker, "did not end when asked to");
}

// ---- what a worker says ----

static int adopt_devices(struct worker *worker, const struct control_ready *ready)
{
    struct box *box = worker->box;
    uint32_t ordinal = box->choice.all ? 0 : box->choice.ordinals[0];

    if (!box->devices_known && device_adopt_inventory(box, ready))
        return -ENODEV;
    if (!worker->device) {
        count(worker, -1);
        for (uint32_t i = 0; i < box->device_count; i++)
            if (box->devices[i].ordinal == ordinal)
                worker->device = &box->devices[i];
        count(worker, +1);
    }
    return worker->device ? 0 : -ENODEV;
}

static int take_ready(struct worker *worker, const struct control_ready *ready)
{
    struct box *box = worker->box;

    if (worker->state != WORKER_STARTING)
        return -EPROTO;
    if (adopt_devices(worker, ready)) {
        kill_now(worker, "the chosen devices are not there");
        return 0;
    }
    struct device *device = worker->device;
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
             device->ordinal, (long long)(control_now_ms() - worker->started_ms),
             (unsigned long long)device->info.context_cost);
    if (!box_accepts_sessions(box))
        worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box takes no new sessions");
    return 0;
}

static int take_stats(struct worker *worker, const struct control_stats *stats)
{
    struct session *session = &worker->session;

    if (!session->id)
        return -EPROTO;
    if (stats->transport != session->stats.transport)
        log_info("session=%llu transport=%s reason=\"%s\"", (unsigned long long)session->id,
                 control_transport_name(stats->transport), stats->reason);
    session->stats = *stats;
    return 0;
}

static int take_message(struct worker *worker, const struct control_frame *frame)
{
    union control_message *message = malloc(sizeof(*message));
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
    free(message);
    return err;
}

// Takes everything that is there; -EAGAIN when there is no more, else why it is over.
static int take_messages(struct worker *worker)
{
    struct control_frame frame = {0};
    int err, passed;

    do {
        err = control_receive_packet(worker->control_fd, &frame, &passed);
        if (!err && passed >= 0)
            close(passed);
        if (!err)
            err = take_message(worker, &frame);
    } while (!err);
    control_frame_free(&frame);
    return err;
}

static void control_readable(evutil_socket_t fd, short events, void *opaque)
{
    struct worker *worker = opaque;
    struct box *box = worker->box;
    int err = take_messages(worker);

    if (err == -EAGAIN) {
        box_review(box);
        return;
    }
    event_del(worker->readable);
    if (err == -ECONNRESET) {
        // Usually it has just exited; a worker that only closed its socket gets the grace time.
        if (worker->state != WORKER_ENDING) {
            worker_move(worker, WORKER_ENDING);
            start_timer(worker, box->settings.worker_stop_grace);
        }
    } else {
        log_error("worker pid=%d broke the protocol error=\"%s\"", (int)worker->pid,
                  strerror(-err));
        kill_now(worker, "broke the protocol with rgpud");
    }
    box_review(box);
}

// ---- starting ----

struct worker_arguments {
    char device[16], block_size[24], block_count[24], spin[24], user[16], group[16], cost[24];
    char gpudirect[96];
    struct fabric_arguments fabric;
    char *list[32 + FABRIC_ARGUMENTS_MAX];
    size_t count;
};

static void add_argument(struct worker_arguments *arguments, const char *name, char *value)
{
    arguments->list[arguments->count++] = (char *)name;
    arguments->list[arguments->count++] = value;
}

static const struct device *measured_device(const struct box *box, uint32_t ordinal)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (box->devices[i].ordinal == ordinal && box->devices[i].measured)
            return &box->devices[i];
    return NULL;
}

static void fill_arguments(struct box *box, uint32_t ordinal, struct worker_arguments *out)
{
    const struct settings *settings = &box->settings;

    *out = (struct worker_arguments){.list = {"rgpu-worker"}, .count = 1};
    snprintf(out->device, sizeof(out->device), "%u", ordinal);
    snprintf(out->block_size, sizeof(out->block_size), "%llu",
             (unsigned long long)settings->block_size);
    snprintf(out->block_count, sizeof(out->block_count), "%lld",
             (long long)settings->block_count);
    snprintf(out->spin, sizeof(out->spin), "%lld", (long long)settings->spin_us);
    snprintf(out->user, sizeof(out->user), "%u", (unsigned)box->worker_user);
    snprintf(out->group, sizeof(out->group), "%u", (unsigned)box->worker_group);
    add_argument(out, "--driver", box->driver_path);
    add_argument(out, "--device", out->device);
    add_argument(out, "--control-fd", "3");
    add_argument(out, "--block-size", out->block_size);
    add_argument(out, "--block-count", out->block_count);
    if (!settings->pipeline)
        out->list[out->count++] = "--no-pipeline";
    snprintf(out->gpudirect, sizeof(out->gpudirect), "%d,%llu,%llu,%llu,%llu", settings->gpudirect,
             (unsigned long long)settings->gpudirect_to_min,
             (unsigned long long)settings->gpudirect_to_max,
             (unsigned long long)settings->gpudirect_from_min,
             (unsigned long long)settings->gpudirect_from_max);
    add_argument(out, "--gpudirect", out->gpudirect);
    if (settings->spin_us >= 0)
        add_argument(out, "--spin-us", out->spin);
    // One worker measures it while nothing else happens on the device; others could not.
    const struct device *measured = measured_device(box, ordinal);
    if (measured) {
        snprintf(out->cost, sizeof(out->cost), "%llu",
                 (unsigned long long)measured->info.context_cost);
        add_argument(out, "--context-cost", out->cost);
    }
    fabric_arguments(settings, &out->fabric);
    for (size_t i = 0; i < out->fabric.count; i += 2)
        add_argument(out, out->fabric.list[i], (char *)out->fabric.list[i + 1]);
    if (box->worker_user) {
        add_argument(out, "--user", out->user);
        add_argument(out, "--group", out->group);
    }
}

static int spawn_worker(struct box *box, uint32_t ordinal, int control_fd, pid_t *pid)
{
    struct worker_arguments arguments;
    // Standard output belongs to our ready line; what a driver prints goes to the log.
    int fds[] = {-1, STDERR_FILENO, STDERR_FILENO, control_fd};
    struct spawn_request request = {
        .program = box->worker_path,
        .arguments = arguments.list,
        .environment = box->worker_environment,
        .fds = fds,
        .fd_count = 4,
        .own_process_group = true,
    };

    fill_arguments(box, ordinal, &arguments);
    return spawn_program(&request, pid);
}

static struct worker *worker_new(struct box *box, struct device *device, int control_fd, pid_t pid)
{
    struct worker *worker = calloc(1, sizeof(*worker));

    if (!worker)
        return NULL;
    worker->box = box;
    worker->device = device;
    worker->pid = pid;
    worker->control_fd = control_fd;
    worker->started_ms = control_now_ms();
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

static int fail_start(struct box *box, struct device *device, int err)
{
    char reason[512];

    snprintf(reason, sizeof(reason), "cannot start %.400s: %s", box->worker_path, strerror(-err));
    pool_start_failed(box, device, reason);
    return err;
}

int worker_start(struct box *box, struct device *device)
{
    uint32_t ordinal = device ? device->ordinal : box->choice.all ? 0 : box->choice.ordinals[0];
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return fail_start(box, device, -errno);
    evutil_make_socket_nonblocking(pair[0]);
    int err = spawn_worker(box, ordinal, pair[1], &pid);
    close(pair[1]);
    if (err) {
        close(pair[0]);
        return fail_start(box, device, err);
    }
    struct worker *worker = worker_new(box, device, pair[0], pid);
    if (!worker) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(pair[0]);
        return fail_start(box, device, -ENOMEM);
    }
    log_debug("worker started pid=%d device=%u", (int)pid, ordinal);
    return 0;
}

// ---- sessions ----

struct worker *worker_find_warm(struct box *box, const struct device *device)
{
    struct worker *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_WARM && worker->device == device)
            return worker;
    return NULL;
}

int worker_grant(struct worker *worker, const struct control_grant *grant, int client_fd,
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
    worker->device->pool.failures = 0;
    worker->box->session_count++;
    worker->box->sessions_total++;
    return 0;
}

// ---- the end ----

static void write_obituary(const struct worker *worker, int status)
{
    const struct session *session = &worker->session;
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
           why, control_transport_name(session->stats.transport),
           (long long)((control_now_ms() - session->since_ms) / 1000),
           (unsigned long long)session->stats.bytes_in,
           (unsigned long long)session->stats.bytes_out,
           (unsigned long long)session->stats.calls);
}

// Workers that end before they serve anyone are started again more and more slowly. One that had
// lasted begins a new count.
static void count_failure(struct worker *worker, int status)
{
    char how[128];

    if (control_now_ms() - worker->started_ms > LASTING_MS && worker->state != WORKER_STARTING)
        pool_of(worker->box, worker->device)->failures = 0;
    spawn_describe_status(status, how, sizeof(how));
    pool_start_failed(worker->box, worker->device, *worker->reason ? worker->reason : how);
}

static void bury(struct worker *worker, int status)
{
    struct box *box = worker->box;

    // Its last words may still be in the socket.
    (void)take_messages(worker);
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
    close(worker->control_fd);
    free(worker);
}

void worker_kill_all(struct box *box)
{
    box->state = BOX_STOPPING;
    while (!TAILQ_EMPTY(&box->workers)) {
        struct worker *worker = TAILQ_FIRST(&box->workers);
        int status = 0;
        worker->asked_to_end = true;
        kill(worker->pid, SIGKILL);
        waitpid(worker->pid, &status, 0);
        bury(worker, status);
    }
}

void worker_reap_all(struct box *box)
{
    struct worker *worker, *next;

    for (worker = TAILQ_FIRST(&box->workers); worker; worker = next) {
        int status;
        next = TAILQ_NEXT(worker, link);
        if (waitpid(worker->pid, &status, WNOHANG) == worker->pid)
            bury(worker, status);
    }
    box_review(box);
}
