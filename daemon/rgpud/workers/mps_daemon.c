// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/workers/mps_daemon.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/workers/mps_settings.h"
#include "daemon/rgpud/box/spawner_client.h"
#include "proto/cuda_abi.h"

enum {
    PAUSE_FIRST_MS = 250,
    LONE_FAULT_US = 500000,
    BROKEN_AFTER = 3,   // consecutive failed starts
    FAREWELL_MS = 5000, // for all daemons, when the box ends
    MPS_KEPT_FDS = 4,   // that are stored for the next rgpud
};

enum mps_state { MPS_DOWN, MPS_STARTING, MPS_READY, MPS_ENDING };
static const char *const state_words[] = {[MPS_DOWN] = "mps: down",
                                          [MPS_STARTING] = "mps: starting",
                                          [MPS_READY] = "mps",
                                          [MPS_ENDING] = "mps: ending"};

// It is not always known if the daemon or its server ended first.
static const char gone_text[] =
    "the GPU's MPS daemon or its server is gone, and with it what its clients had on the GPU";

struct mps_daemon {
    struct box_device *device;
    enum mps_state state;
    uint64_t supervisor;      // number of the MPS supervisor at rgpu-spawner; 0: none runs
    pid_t daemon, server;     // 0: none
    int pipe_fd;              // directory of the daemon's socket; -1: not known yet
    int server_fd;            // a pidfd; -1: none
    struct event *server_end; // end of the server
    int input;                // to end the supervisor, this is closed
    struct bufferevent *output;
    struct event *pause; // pending: no start before it ends
    unsigned failures;   // consecutive
    char pipe[128];
    struct event *alone; // pending: a lone session may see its own fault before it ends
    char reason[256];    // of the last end
    bool unasked;        // the supervisor sent a reason or was killed, so rgpud did not end it
    char farewell[256];  // text for ending clients; empty: they need not end
};

// ---- failures and ends ----

static void arm_pause(struct mps_daemon *mps)
{
    uint64_t most = mps->device->box->settings.worker_backoff_max / 1000, wait = PAUSE_FIRST_MS;

    for (unsigned i = 1; i < mps->failures && wait < most; i++)
        wait *= 2;
    wait = wait < most ? wait : most;
    struct timeval delay = {.tv_sec = (time_t)(wait / 1000),
                            .tv_usec = (suseconds_t)(wait % 1000) * 1000};
    evtimer_add(mps->pause, &delay);
}

static bool is_broken(const struct mps_daemon *mps)
{
    return mps->failures >= BROKEN_AFTER;
}

static bool given_up(const struct mps_daemon *mps)
{
    return is_broken(mps) && mps->device->box->settings.mps_fallback == MPS_FALLBACK_TIME;
}

static void end_clients(struct mps_daemon *mps, const char *text)
{
    snprintf(mps->farewell, sizeof(mps->farewell), "%s", text);
    box_changed(mps->device->box);
}

static void forget_server(struct mps_daemon *mps)
{
    if (mps->server_end)
        event_free(mps->server_end);
    mps->server_end = NULL;
    if (mps->server_fd >= 0)
        close(mps->server_fd);
    mps->server_fd = -1;
    mps->server = 0;
}

// Ends the supervisor. The spawner has its input, too.
static void close_input(struct mps_daemon *mps)
{
    spawner_store(mps->device->box, mps->supervisor, NULL, 0);
    if (mps->input >= 0)
        close(mps->input);
    mps->input = -1;
}

static void mps_daemon_let_go(struct mps_daemon *mps)
{
    if (mps->output)
        bufferevent_free(mps->output);
    mps->output = NULL;
    close_input(mps);
    if (mps->pipe_fd >= 0)
        close(mps->pipe_fd);
    mps->pipe_fd = -1;
}

// Handles the end of the supervisor, or its failed start.
static void is_down(struct mps_daemon *mps)
{
    struct box_device *device = mps->device;
    // The server may have ended before its daemon. The reason of the daemon's end is still logged.
    bool wanted = mps->state == MPS_ENDING && !mps->unasked;

    mps_daemon_let_go(mps);
    evtimer_del(mps->alone);
    forget_server(mps);
    mps->supervisor = mps->daemon = 0;
    mps->state = MPS_DOWN;
    if (wanted)
        return;
    mps->failures++;
    log_error("gpu=%u the MPS daemon is gone failures=%u reason=\"%s\"%s", device->ordinal,
              mps->failures, mps->reason,
              given_up(mps) ? "; its processes share the GPU by time until it starts" : "");
    snprintf(device->pool.last_error, sizeof(device->pool.last_error), "the GPU's MPS daemon: %s",
             mps->reason);
    end_clients(mps, gone_text);
    arm_pause(mps);
}

static void mps_daemon_stop(struct mps_daemon *mps)
{
    mps->state = MPS_ENDING;
    close_input(mps);
}

// Handles the end of the server. All its clients lose their contexts, including warm workers. The
// daemon would start another server for the next client. A new daemon ensures that new clients do
// not meet remains of the old one.
static void server_lost(struct mps_daemon *mps)
{
    if (mps->state != MPS_READY || evtimer_pending(mps->alone, NULL))
        return;
    log_warn("gpu=%u the MPS server is gone pid=%d", mps->device->ordinal, (int)mps->server);
    end_clients(mps, gone_text);
    mps_daemon_stop(mps);
}

static void server_ended(evutil_socket_t fd, short events, void *argument)
{
    server_lost(argument);
}

static bool server_is_gone(const struct mps_daemon *mps)
{
    struct pollfd end = {.fd = mps->server_fd, .events = POLLIN};

    return mps->server_fd >= 0 && poll(&end, 1, 0) > 0;
}

// Watches the current server. If another server replaces a known one, or none does, the known one
// has ended.
static void watch_server(struct mps_daemon *mps, pid_t pid)
{
    if (pid == mps->server)
        return;
    if (mps->server) {
        server_lost(mps);
        return;
    }
    mps->server = pid;
    mps->server_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (mps->server_fd < 0 && errno == ESRCH) {
        server_lost(mps);
        return;
    }
    // Without a pidfd, errors of its clients still report its end.
    if (mps->server_fd < 0) {
        log_error("gpu=%u cannot watch the MPS server pid=%d reason=\"%s\"", mps->device->ordinal,
                  (int)pid, strerror(errno));
        return;
    }
    mps->server_end = event_new(mps->device->box->base, mps->server_fd, EV_READ, server_ended, mps);
    event_add(mps->server_end, NULL);
}

static void end_of_lone_session(evutil_socket_t fd, short events, void *argument)
{
    end_clients(argument, "its fault ended the GPU's MPS server");
    mps_daemon_stop(argument);
}

// Handles a fault that cost all clients their contexts. The server would take no new clients until
// all have left. A new server starts as fast and has no old state.
static void fault_of(struct mps_daemon *mps, const char *lease, int result, bool alone)
{
    char text[256];

    if (result == CUDA_ERROR_MPS_RPC_FAILURE) {
        server_lost(mps);
        return;
    }
    if (mps->state != MPS_READY || evtimer_pending(mps->alone, NULL))
        return;
    log_warn("gpu=%u the MPS server is lost to a fault result=%d seen_by_lease=%s",
             mps->device->ordinal, result, *lease ? lease : "none");
    // If no other session is affected, its program sees its own error first.
    if (result && alone) {
        const struct timeval while_ms = {.tv_usec = LONE_FAULT_US};
        evtimer_add(mps->alone, &while_ms);
        return;
    }
    snprintf(
        text, sizeof(text),
        "a fatal fault of one of its clients, perhaps of this one, ended the GPU's MPS server and all of "
        "them (CUDA error %d, mps_share=%s)",
        result, mps_share_words[mps->device->box->settings.mps_share]);
    end_clients(mps, text);
    mps_daemon_stop(mps);
}

void mps_faulted(const struct box_device *device, const char *lease, int result, bool alone)
{
    if (device->mps)
        fault_of(device->mps, lease, result, alone);
}

bool mps_says_farewell(const struct box_device *device, char *text, size_t room)
{
    if (!device->mps || !*device->mps->farewell)
        return false;
    snprintf(text, room, "%s", device->mps->farewell);
    *device->mps->farewell = '\0';
    return true;
}

// ---- for the next rgpud ----

// The supervisor itself reports all else again.
static void mps_daemon_store(const struct mps_daemon *mps)
{
    struct box *box = mps->device->box;
    struct control_kept_mps kept = {.list = CONTROL_SESSION_DIGEST,
                                    .ready = mps->state == MPS_READY,
                                    .daemon = (uint32_t)mps->daemon,
                                    .server = (uint32_t)mps->server};

    if (!spawner_outlives(box) || mps->input < 0 || mps->pipe_fd < 0)
        return;
    snprintf(kept.uuid, sizeof(kept.uuid), "%s", mps->device->uuid);
    SCOPED_FD int record = spawner_kept_pack(CONTROL_KEPT_MPS, &kept);
    const int fds[] = {record, mps->input, bufferevent_getfd(mps->output), mps->pipe_fd};
    if (record < 0)
        log_error("gpu=%u the MPS daemon is not stored for the next rgpud error=\"%s\"",
                  mps->device->ordinal, strerror(-record));
    else
        spawner_store(box, mps->supervisor, fds, MPS_KEPT_FDS);
}

// ---- output of the supervisor ----

static void mps_daemon_take_line(struct mps_daemon *mps, const char *line)
{
    char status[64];
    int pid;

    if (sscanf(line, "daemon %d", &pid) == 1) {
        mps->daemon = pid;
    } else if (!strcmp(line, "ready") && mps->state == MPS_STARTING) {
        mps->state = MPS_READY;
        log_info("gpu=%u the MPS daemon is ready pid=%d user=%u pipe=%s", mps->device->ordinal,
                 (int)mps->daemon, (unsigned)mps_user(mps->device->box, mps->device->ordinal),
                 mps->pipe);
    } else if (sscanf(line, "server %d %63s", &pid, status) == 2) {
        log_info("gpu=%u MPS server pid=%d status=%s", mps->device->ordinal, pid, status);
        watch_server(mps, pid);
        // It has served a client, so later failures count from zero.
        mps->failures = pid ? 0 : mps->failures;
        if (!strcmp(status, "FAULT"))
            fault_of(mps, "none", 0, false);
    } else if (!strncmp(line, "ends ", 5)) {
        snprintf(mps->reason, sizeof(mps->reason), "%s", line + 5);
        mps->unasked = true;
    }
}

static void mps_daemon_readable(struct bufferevent *output, void *argument)
{
    struct mps_daemon *mps = argument;
    struct evbuffer *in = bufferevent_get_input(output);
    char *line;

    while ((line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF))) {
        mps_daemon_take_line(mps, line);
        free(line);
    }
    mps_daemon_store(mps);
    box_changed(mps->device->box);
}

// Handles the end of the output. supervisor_ended() follows.
static void mps_daemon_closed(struct bufferevent *output, short events, void *argument)
{
    bufferevent_disable(output, EV_READ);
}

// ---- starting ----

static void supervisor_started(void *argument, pid_t pid, const int *fds, size_t count)
{
    struct mps_daemon *mps = argument;

    if (count > 1)
        mps->pipe_fd = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
    mps_daemon_store(mps);
}

static void supervisor_ended(void *argument, int err, int status)
{
    struct mps_daemon *mps = argument;

    if (mps->output)
        mps_daemon_readable(mps->output, mps); // its last output
    if (err)
        snprintf(mps->reason, sizeof(mps->reason), "cannot be started in mps_directory=%s: %s",
                 mps->device->box->settings.mps_directory, strerror(-err));
    else if (WIFSIGNALED(status))
        mps->unasked = true; // even if the end of its server was seen before
    is_down(mps);
    box_changed(mps->device->box);
}

// Takes ownership of rgpud's ends of the pipes.
static int listen_to_supervisor(struct mps_daemon *mps, int input, int output)
{
    mps->input = input;
    fcntl(input, F_SETFL, O_NONBLOCK);
    fcntl(output, F_SETFL, O_NONBLOCK);
    mps->output = bufferevent_socket_new(mps->device->box->base, output, BEV_OPT_CLOSE_ON_FREE);
    if (!mps->output) {
        close(output);
        return -ENOMEM;
    }
    bufferevent_setcb(mps->output, mps_daemon_readable, NULL, mps_daemon_closed, mps);
    bufferevent_enable(mps->output, EV_READ);
    return 0;
}

static int spawn_supervisor(struct mps_daemon *mps)
{
    struct box *box = mps->device->box;
    struct spawner_order order = {.kind = SPAWNER_MPS, .gpu = mps->device->ordinal};
    const struct spawner_owner owner = {.started = supervisor_started,
                                        .ended = supervisor_ended,
                                        .argument = mps};
    int in[2] = {-1, -1}, out[2] = {-1, -1};

    memcpy(order.uuid, mps->device->info.uuid, sizeof(order.uuid));
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return -errno;
    const int fds[SPAWNER_MPS_FDS] = {in[0], out[1]};
    int err = spawner_start(box, &order, fds, SPAWNER_MPS_FDS, &owner, &mps->supervisor);
    close(in[0]);
    close(out[1]);
    int listening = listen_to_supervisor(mps, in[1], out[0]);
    return err ? err : listening;
}

static void mps_daemon_start(struct mps_daemon *mps)
{
    mps->state = MPS_STARTING;
    mps->unasked = false;
    snprintf(mps->reason, sizeof(mps->reason), "rgpu-mps ended");
    int err = spawn_supervisor(mps);
    if (err) {
        snprintf(mps->reason, sizeof(mps->reason), "cannot be ordered: %s", strerror(-err));
        if (mps->supervisor)
            spawner_forget(mps->device->box, mps->supervisor);
        is_down(mps);
    }
}

static void pause_is_over(evutil_socket_t fd, short events, void *argument)
{
    box_changed(argument);
}

static struct mps_daemon *mps_daemon_add(struct box_device *device)
{
    struct mps_daemon *mps = calloc(1, sizeof(*mps));

    if (!mps)
        return NULL;
    *mps = (struct mps_daemon){.device = device, .input = -1, .server_fd = -1, .pipe_fd = -1};
    mps->pause = evtimer_new(device->box->base, pause_is_over, device->box);
    snprintf(mps->pipe, sizeof(mps->pipe), "%s/%u/pipe", device->box->settings.mps_directory,
             device->ordinal);
    mps->alone = evtimer_new(device->box->base, end_of_lone_session, mps);
    return mps;
}

// ---- taking over ----

static bool is_pipe(int fd, int access)
{
    struct stat status;

    return !fstat(fd, &status) && S_ISFIFO(status.st_mode) &&
           (fcntl(fd, F_GETFL) & O_ACCMODE) == access;
}

// Returns why a supervisor cannot be taken over, or NULL with its GPU.
static const char *check_kept(struct box *box, const struct spawner_kept *kept,
                              struct control_kept_mps *record, struct box_device **device)
{
    const int *fds = kept->stored;
    struct stat status;

    if (kept->stored_count != MPS_KEPT_FDS ||
        spawner_kept_unpack(fds[0], CONTROL_KEPT_MPS, record) || !is_pipe(fds[1], O_WRONLY) ||
        !is_pipe(fds[2], O_RDONLY) || fstat(fds[3], &status) || !S_ISDIR(status.st_mode))
        return "its record cannot be read";
    if (record->list != CONTROL_SESSION_DIGEST)
        return "its record is of another release than rgpud";
    for (uint32_t i = 0; i < box->device_count; i++)
        if (!strcmp(box->devices[i].uuid, record->uuid))
            *device = &box->devices[i];
    if (!*device || !mps_is_wanted(*device))
        return "its GPU is no longer shared by MPS";
    return (*device)->mps ? "its GPU has another one" : NULL;
}

void mps_take_over(struct box *box, const struct spawner_kept *kept)
{
    struct control_kept_mps record;
    struct box_device *device = NULL;
    const char *problem = check_kept(box, kept, &record, &device);
    struct mps_daemon *mps = problem ? NULL : mps_daemon_add(device);

    // Its clients end when they are to be taken over.
    if (!mps) {
        log_warn("MPS supervisor pid=%d is not taken over reason=\"%s\"", (int)kept->pid,
                 problem ? problem : "memory is exhausted");
        spawner_end(box, kept->number);
        return;
    }
    const struct spawner_owner owner = {.ended = supervisor_ended, .argument = mps};
    bool runs = spawner_own(box, kept->number, &owner);
    device->mps = mps;
    mps->supervisor = kept->number;
    mps->daemon = (pid_t)record.daemon;
    mps->state = record.ready ? MPS_READY : MPS_STARTING;
    mps->pipe_fd = fcntl(kept->stored[3], F_DUPFD_CLOEXEC, 3);
    snprintf(mps->reason, sizeof(mps->reason), "rgpu-mps ended");
    log_info("gpu=%u the MPS daemon is taken over pid=%d server=%u", device->ordinal,
             (int)mps->daemon, record.server);
    if (!runs)
        supervisor_ended(mps, 0, 0);
    else if (listen_to_supervisor(mps, fcntl(kept->stored[1], F_DUPFD_CLOEXEC, 3),
                                  fcntl(kept->stored[2], F_DUPFD_CLOEXEC, 3)) ||
             dprintf(mps->input, "again\n") < 0)
        spawner_end(box, kept->number);
    else if (record.server)
        watch_server(mps, (pid_t)record.server);
}

bool mps_kept_has_process(const struct spawner_kept *kept, pid_t pid)
{
    struct control_kept_mps record;

    return kept->kind == SPAWNER_MPS && kept->stored_count &&
           !spawner_kept_unpack(kept->stored[0], CONTROL_KEPT_MPS, &record) &&
           (pid == (pid_t)record.server || pid == (pid_t)record.daemon);
}

static bool ends(const struct box *box)
{
    return box->state == BOX_LEAVING || box->state == BOX_STOPPING;
}

void mps_review(struct box *box)
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        struct box_device *device = &box->devices[i];
        if (!device->mps && mps_is_set(&box->settings, device->ordinal))
            device->mps = mps_daemon_add(device);
        struct mps_daemon *mps = device->mps;
        if (mps && mps->state == MPS_DOWN && !ends(box) && !evtimer_pending(mps->pause, NULL))
            mps_daemon_start(mps);
    }
}

// ---- closing ----

void mps_close(struct box *box)
{
    int64_t deadline = clock_ms() + FAREWELL_MS;

    for (uint32_t i = 0; i < box->device_count; i++)
        if (box->devices[i].mps)
            mps_daemon_let_go(box->devices[i].mps);
    for (uint32_t i = 0; i < box->device_count; i++) {
        struct mps_daemon *mps = box->devices[i].mps;
        if (!mps)
            continue;
        if (mps->supervisor && !spawner_await(box, mps->supervisor, deadline))
            spawner_end(box, mps->supervisor);
        spawner_forget(box, mps->supervisor);
        forget_server(mps);
        event_free(mps->pause);
        event_free(mps->alone);
        free(mps);
        box->devices[i].mps = NULL;
    }
}

// ---- queries ----

bool mps_is_wanted(const struct box_device *device)
{
    return device && !device->instance && mps_is_set(&device->box->settings, device->ordinal) &&
           !(device->mps && given_up(device->mps));
}

bool mps_serves(const struct box_device *device, device_set sees)
{
    return mps_is_wanted(device) && sees == UINT64_C(1) << device->ordinal;
}

bool mps_holds_up(const struct box_device *device, device_set sees)
{
    const struct mps_daemon *mps = device ? device->mps : NULL;

    return mps_serves(device, sees) && (!mps || mps->state != MPS_READY ||
                                        evtimer_pending(mps->alone, NULL) || server_is_gone(mps));
}

bool mps_is_broken(const struct box_device *device, device_set sees)
{
    return mps_serves(device, sees) && device->mps && is_broken(device->mps);
}

const char *mps_pipe(const struct box_device *device)
{
    return device->mps->pipe;
}

const int *mps_socket_directory(const struct box_device *device)
{
    return &device->mps->pipe_fd;
}

void mps_note_client(const struct box_device *device)
{
    const struct mps_daemon *mps = device->mps;

    if (mps && mps->state == MPS_READY && !mps->server && dprintf(mps->input, "look\n") < 0)
        log_debug("gpu=%u the MPS daemon's supervisor does not listen", device->ordinal);
}

bool mps_terminate(const struct box_device *device, pid_t client)
{
    return device && device->mps && device->mps->state == MPS_READY && device->mps->server &&
           dprintf(device->mps->input, "terminate %d\n", (int)client) > 0;
}

bool mps_has_process(const struct box_device *device, pid_t pid)
{
    return device->mps && pid && (pid == device->mps->server || pid == device->mps->daemon);
}

const char *mps_state_word(const struct box_device *device)
{
    return !device->mps            ? "time"
           : given_up(device->mps) ? "time, as its MPS daemon does not start"
                                   : state_words[device->mps->state];
}
