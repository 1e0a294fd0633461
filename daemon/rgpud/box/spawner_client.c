// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/spawner_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/box/programs.h"

enum {
    ANSWERS_PER_TURN = 64,
    OPEN_MS = 10000, // for the first answer and for the end of an earlier rgpud's processes
};

struct ordered {
    TAILQ_ENTRY(ordered) link;
    uint64_t number;
    struct spawner_owner owner; // ENDED NULL: forgotten, or ordered by an earlier rgpud
};

// An order that waits for space in the socket.
struct waiting_order {
    TAILQ_ENTRY(waiting_order) link;
    struct spawner_order order;
    int fds[FDPASS_MAX];
    size_t count;
};

struct spawner_client {
    int fd; // -1: the spawner has ended
    struct event *readable, *writable;
    uint64_t next_number;
    bool greeted, listed;
    bool outlives; // the spawner was there before rgpud
    TAILQ_HEAD(ordered_list, ordered) processes;
    TAILQ_HEAD(waiting_order_list, waiting_order) waiting;
    struct spawner_kept_list kept;
};

// ---- sending ----

static void drop_waiting(struct spawner_client *client)
{
    struct waiting_order *first;

    while ((first = TAILQ_FIRST(&client->waiting))) {
        TAILQ_REMOVE(&client->waiting, first, link);
        for (size_t i = 0; i < first->count; i++)
            close(first->fds[i]);
        free(first);
    }
}

static int wait_for_room(struct spawner_client *client, const struct spawner_order *order,
                         const int *fds, size_t count)
{
    struct waiting_order *last = calloc(1, sizeof(*last));

    if (!last)
        return -ENOMEM;
    last->order = *order;
    TAILQ_INSERT_TAIL(&client->waiting, last, link);
    for (; last->count < count; last->count++) {
        last->fds[last->count] = fcntl(fds[last->count], F_DUPFD_CLOEXEC, 3);
        if (last->fds[last->count] < 0) {
            int err = -errno;
            TAILQ_REMOVE(&client->waiting, last, link);
            while (last->count--)
                close(last->fds[last->count]);
            free(last);
            return err;
        }
    }
    return event_add(client->writable, NULL) ? -ENOMEM : 0;
}

static int send_order(struct spawner_client *client, struct spawner_order *order, const int *fds,
                      size_t count)
{
    int err;

    if (client->fd < 0)
        return -ENOTCONN;
    order->version = SPAWNER_VERSION;
    err = TAILQ_EMPTY(&client->waiting) ? fdpass_send(client->fd, order, sizeof(*order), fds, count)
                                        : -EAGAIN;
    return err == -EAGAIN ? wait_for_room(client, order, fds, count) : err;
}

static void spawner_client_has_room(evutil_socket_t fd, short events, void *argument)
{
    struct box *box = argument;
    struct spawner_client *client = box->spawner;
    struct waiting_order *first;

    while ((first = TAILQ_FIRST(&client->waiting))) {
        int err =
            fdpass_send(client->fd, &first->order, sizeof(first->order), first->fds, first->count);
        if (err == -EAGAIN) {
            event_add(client->writable, NULL);
            return;
        }
        if (err) { // reading will detect the spawner's end
            drop_waiting(client);
            return;
        }
        TAILQ_REMOVE(&client->waiting, first, link);
        for (size_t i = 0; i < first->count; i++)
            close(first->fds[i]);
        free(first);
    }
}

// ---- receiving ----

static struct ordered *spawner_client_find(const struct spawner_client *client, uint64_t number)
{
    struct ordered *ordered;

    TAILQ_FOREACH(ordered, &client->processes, link)
        if (ordered->number == number)
            return ordered;
    return NULL;
}

static struct ordered *spawner_client_add(struct spawner_client *client, uint64_t number,
                                          const struct spawner_owner *owner)
{
    struct ordered *ordered = calloc(1, sizeof(*ordered));

    if (!ordered)
        return NULL;
    ordered->number = number;
    if (owner)
        ordered->owner = *owner;
    TAILQ_INSERT_TAIL(&client->processes, ordered, link);
    return ordered;
}

static void spawner_client_has_ended(struct spawner_client *client, struct ordered *ordered,
                                     int err, int status)
{
    struct spawner_owner owner = ordered->owner;

    TAILQ_REMOVE(&client->processes, ordered, link);
    free(ordered);
    if (owner.ended)
        owner.ended(owner.argument, err, status);
}

// ---- what an earlier rgpud has left ----

// Ends a process that cannot be taken over: it has no session, or is no worker.
static void end_leftover(struct spawner_client *client, const struct ordered *process)
{
    struct spawner_kept *kept = spawner_kept_find(&client->kept, process->number);
    struct spawner_order end = {.verb = SPAWNER_END, .number = process->number};

    if (kept && kept->stored_count)
        return;
    log_info("process of an earlier rgpud is ended number=%llu pid=%d",
             (unsigned long long)process->number, kept ? (int)kept->pid : 0);
    if (kept) {
        TAILQ_REMOVE(&client->kept, kept, link);
        spawner_kept_free(&kept);
    }
    if (send_order(client, &end, NULL, 0))
        log_error("process of an earlier rgpud cannot be ended number=%llu",
                  (unsigned long long)process->number);
}

static void end_leftovers(struct spawner_client *client)
{
    const struct ordered *process;

    client->listed = true;
    TAILQ_FOREACH(process, &client->processes, link)
        end_leftover(client, process);
}

struct spawner_kept *spawner_take_stored(struct box *box, uint64_t number)
{
    struct spawner_kept *kept = spawner_kept_find(&box->spawner->kept, number);

    if (kept)
        TAILQ_REMOVE(&box->spawner->kept, kept, link);
    return kept;
}

const struct spawner_kept_list *spawner_list_kept(const struct box *box)
{
    return &box->spawner->kept;
}

struct spawner_kept *spawner_take_kept(struct box *box)
{
    const struct spawner_kept *first = TAILQ_FIRST(&box->spawner->kept);

    return first ? spawner_take_stored(box, first->number) : NULL;
}

// ---- replies ----

static void spawner_client_take_reply(struct box *box, const struct spawner_reply *reply,
                                      const int *fds, size_t count)
{
    struct spawner_client *client = box->spawner;
    struct ordered *ordered = spawner_client_find(client, reply->number);

    switch (reply->word) {
    case SPAWNER_HELLO:
        client->greeted = true;
        box->users = (struct worker_users){reply->first_user, reply->last_user};
        return;
    case SPAWNER_LISTED:
        if (!ordered && spawner_client_add(client, reply->number, NULL))
            spawner_kept_listed(&client->kept, reply, fds, count);
        return;
    case SPAWNER_STORED: spawner_kept_stored(&client->kept, reply, fds, count); return;
    case SPAWNER_LIST_END: end_leftovers(client); return;
    case SPAWNER_STARTED:
        if (ordered && ordered->owner.started)
            ordered->owner.started(ordered->owner.argument, reply->pid, fds, count);
        return;
    case SPAWNER_FAILED:
        if (ordered)
            spawner_client_has_ended(client, ordered, reply->value, 0);
        return;
    case SPAWNER_ENDED:
        if (ordered)
            spawner_client_has_ended(client, ordered, 0, reply->value);
        return;
    }
}

// Handles the end of the spawner. The kernel or systemd kills the processes that it started.
static void spawner_client_is_gone(struct box *box, int err)
{
    struct spawner_client *client = box->spawner;
    struct ordered *first;

    log_error("rgpu-spawner is gone, and all workers with it: rgpud ends error=\"%s\"",
              strerror(-err));
    event_del(client->readable);
    event_del(client->writable);
    close(client->fd);
    client->fd = -1;
    drop_waiting(client);
    while ((first = TAILQ_FIRST(&client->processes)))
        spawner_client_has_ended(client, first, 0, SIGKILL);
    box->exit_status = 1;
    event_base_loopbreak(box->base);
}

// Handles one reply. Returns 1 if there was one, 0 if there is none, -errno if the spawner has
// ended.
static int spawner_client_take_one(struct box *box)
{
    struct spawner_client *client = box->spawner;
    struct spawner_reply reply;
    int fds[FDPASS_MAX];
    size_t count = FDPASS_MAX;
    ssize_t n = fdpass_receive(client->fd, &reply, sizeof(reply), fds, &count);

    if (n == -EAGAIN)
        return 0;
    if (n <= 0)
        return n ? (int)n : -ECONNRESET;
    int err = n != sizeof(reply) || reply.version != SPAWNER_VERSION ? -EPROTO : 1;
    if (err < 0)
        log_error("rgpu-spawner is of another release than rgpud: end its sessions and restart it "
                  "(systemctl restart rgpu-workers)");
    if (err > 0)
        spawner_client_take_reply(box, &reply, fds, count);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return err;
}

static void spawner_client_take_all(struct box *box)
{
    int more = 1;

    for (int i = 0; i < ANSWERS_PER_TURN && more == 1 && box->spawner->fd >= 0; i++)
        more = spawner_client_take_one(box);
    if (more < 0)
        spawner_client_is_gone(box, more);
}

static void spawner_client_has_spoken(evutil_socket_t fd, short events, void *argument)
{
    spawner_client_take_all(argument);
    box_changed(argument);
}

// Waits for input until the deadline. Returns false if none came.
static bool spawner_client_await_reply(struct box *box, int64_t deadline_ms)
{
    struct spawner_client *client = box->spawner;
    int64_t left = deadline_ms - clock_ms();
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};

    if (client->fd < 0 || left <= 0)
        return false;
    if (!TAILQ_EMPTY(&client->waiting))
        ready.events |= POLLOUT;
    if (poll(&ready, 1, (int)left) <= 0)
        return errno == EINTR;
    if (ready.revents & POLLOUT)
        spawner_client_has_room(client->fd, EV_WRITE, box);
    if (ready.revents & ~POLLOUT)
        spawner_client_take_all(box);
    return true;
}

bool spawner_await(struct box *box, uint64_t number, int64_t deadline_ms)
{
    while (spawner_client_find(box->spawner, number))
        if (!spawner_client_await_reply(box, deadline_ms))
            return !spawner_client_find(box->spawner, number);
    return true;
}

// ---- orders ----

int spawner_start(struct box *box, struct spawner_order *order, const int *fds, size_t count,
                  const struct spawner_owner *owner, uint64_t *number)
{
    struct spawner_client *client = box->spawner;
    struct ordered *ordered = spawner_client_add(client, client->next_number, owner);

    if (!ordered)
        return -ENOMEM;
    order->verb = SPAWNER_START;
    order->number = *number = client->next_number++;
    int err = send_order(client, order, fds, count);
    if (err) {
        TAILQ_REMOVE(&client->processes, ordered, link);
        free(ordered);
    }
    return err;
}

bool spawner_outlives(const struct box *box)
{
    return box->spawner->outlives;
}

void spawner_store(struct box *box, uint64_t number, const int *fds, size_t count)
{
    struct spawner_order order = {.verb = SPAWNER_STORE, .number = number};
    int err = spawner_outlives(box) ? send_order(box->spawner, &order, fds, count) : 0;

    if (err)
        log_error("nothing is stored for the next rgpud number=%llu error=\"%s\"",
                  (unsigned long long)number, strerror(-err));
}

int spawner_add_member(struct box *box, struct spawner_order *order)
{
    order->verb = SPAWNER_MEMBER;
    return send_order(box->spawner, order, NULL, 0);
}

void spawner_end(struct box *box, uint64_t number)
{
    struct spawner_order order = {.verb = SPAWNER_END, .number = number};
    int err = spawner_client_find(box->spawner, number) ? send_order(box->spawner, &order, NULL, 0)
                                                        : 0;

    if (err)
        log_error("process cannot be ended error=\"%s\"", strerror(-err));
}

bool spawner_own(struct box *box, uint64_t number, const struct spawner_owner *owner)
{
    struct ordered *ordered = spawner_client_find(box->spawner, number);

    if (ordered)
        ordered->owner = *owner;
    return ordered != NULL;
}

void spawner_forget(struct box *box, uint64_t number)
{
    struct ordered *ordered = spawner_client_find(box->spawner, number);

    if (ordered)
        ordered->owner = (struct spawner_owner){0};
}

// ---- opening ----

static int spawner_client_connect_to(const char *path, int *out)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || (size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
                      sizeof(address.sun_path))
        return -ENAMETOOLONG;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
        return -errno;
    *out = scoped_take_fd(&fd);
    return 0;
}

// Returns true if each process of an earlier rgpud has ended, or has something stored.
static bool spawner_client_is_settled(const struct spawner_client *client)
{
    const struct ordered *process;

    TAILQ_FOREACH(process, &client->processes, link)
        if (!spawner_kept_find(&client->kept, process->number))
            return false;
    return client->greeted && client->listed;
}

// Gets the spawner's state.
static int spawner_client_begin(struct box *box)
{
    struct spawner_client *client = box->spawner;
    struct spawner_order list = {.verb = SPAWNER_LIST};
    int64_t deadline = clock_ms() + OPEN_MS;
    int err = send_order(client, &list, NULL, 0);

    while (!err && !spawner_client_is_settled(client))
        if (!spawner_client_await_reply(box, deadline))
            err = client->fd < 0 ? -ECONNRESET : -ETIMEDOUT;
    return err;
}

int spawner_open(struct box *box, const char *path, int argc, char **argv, const char *config)
{
    struct spawner_client *client = calloc(1, sizeof(*client));
    int err = client ? 0 : -ENOMEM;

    if (err)
        return err;
    *client = (struct spawner_client){.fd = -1, .outlives = path != NULL};
    TAILQ_INIT(&client->processes);
    TAILQ_INIT(&client->waiting);
    TAILQ_INIT(&client->kept);
    box->spawner = client;
    // An earlier rgpud of this boot has used smaller numbers: each process took time to start.
    client->next_number = SPAWNER_PROCESSES + clock_ns();
    err = path ? spawner_client_connect_to(path, &client->fd)
               : programs_run_spawner(box->standalone, argc, argv, config, &client->fd);
    if (!err) {
        client->readable =
            event_new(box->base, client->fd, EV_READ | EV_PERSIST, spawner_client_has_spoken, box);
        client->writable = event_new(box->base, client->fd, EV_WRITE, spawner_client_has_room, box);
        err = client->readable && client->writable && !event_add(client->readable, NULL) ? 0
                                                                                         : -ENOMEM;
    }
    if (!err)
        err = spawner_client_begin(box);
    if (err)
        log_error("cannot %s rgpu-spawner %s error=\"%s\"", path ? "use" : "start",
                  path ? path : "", strerror(-err));
    return err;
}

void spawner_close(struct box *box)
{
    struct spawner_client *client = box->spawner;
    struct spawner_kept *kept;
    struct ordered *first;

    if (!client)
        return;
    drop_waiting(client);
    while ((kept = spawner_take_kept(box)))
        spawner_kept_free(&kept);
    while ((first = TAILQ_FIRST(&client->processes))) {
        TAILQ_REMOVE(&client->processes, first, link);
        free(first);
    }
    if (client->readable)
        event_free(client->readable);
    if (client->writable)
        event_free(client->writable);
    if (client->fd >= 0)
        close(client->fd);
    free(client);
    box->spawner = NULL;
}
