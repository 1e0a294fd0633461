// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/spawner/order_socket.h"

enum { ORDERS_PER_TURN = 64, SEND_MS = 1000 };

void order_socket_close(struct spawner *spawner)
{
    if (spawner->connection < 0)
        return;
    close(spawner->connection);
    spawner->connection = -1;
    spawner->alone_since_ms = clock_ms();
    kind_forget_members(spawner);
}

// An rgpud that takes no answers for so long has none.
static void order_socket_answer(struct spawner *spawner, const struct spawner_reply *reply,
                                const int *fds, size_t count)
{
    int64_t deadline = clock_ms() + SEND_MS;
    int err = spawner->connection < 0
                  ? 0
                  : fdpass_send(spawner->connection, reply, sizeof(*reply), fds, count);

    while (err == -EAGAIN && clock_ms() < deadline) {
        struct pollfd writable = {.fd = spawner->connection, .events = POLLOUT};
        poll(&writable, 1, SEND_MS);
        err = fdpass_send(spawner->connection, reply, sizeof(*reply), fds, count);
    }
    // The orders that an ended rgpud has sent are still to be read.
    if (!err || err == -EPIPE || err == -ECONNRESET)
        return;
    log_warn("rgpud takes no answer error=\"%s\"", strerror(-err));
    order_socket_close(spawner);
}

static void order_socket_start(struct spawner *spawner, const struct spawner_order *order,
                               const int *fds, size_t count)
{
    struct spawned *process;
    struct spawner_reply reply = {.version = SPAWNER_VERSION,
                                  .number = order->number,
                                  .kind = order->kind};
    int out_fd;
    int err = spawned_start(spawner, order, fds, count, &process, &out_fd);

    if (order->kind == SPAWNER_SUSPENDER)
        kind_forget_members(spawner);
    reply.word = err ? SPAWNER_FAILED : SPAWNER_STARTED;
    reply.value = err;
    if (err) {
        order_socket_answer(spawner, &reply, NULL, 0);
    } else {
        const int given[] = {process->pidfd, out_fd};
        reply.pid = process->pid;
        reply.user = process->user;
        order_socket_answer(spawner, &reply, given, out_fd < 0 ? 1 : 2);
    }
    if (out_fd >= 0)
        close(out_fd);
}

static void order_socket_list_one(struct spawner *spawner, const struct spawned *process)
{
    const struct spawner_reply reply = {.version = SPAWNER_VERSION,
                                        .word = SPAWNER_LISTED,
                                        .number = process->number,
                                        .kind = process->kind,
                                        .pid = process->pid,
                                        .user = process->user};
    SCOPED_FD int proc = process->kept[0] < 0 ? -1 : spawned_open_proc(process->pid);
    int fds[2 + SPAWNER_KEPT] = {process->pidfd, proc};
    size_t count = proc < 0 ? 1 : 2;

    for (int i = 0; i < SPAWNER_KEPT && proc >= 0; i++)
        fds[count++] = process->kept[i];
    order_socket_answer(spawner, &reply, fds, count);
}

static void order_socket_list_store(struct spawner *spawner, uint64_t number,
                                    const struct spawner_store *store)
{
    const struct spawner_reply reply = {.version = SPAWNER_VERSION,
                                        .word = SPAWNER_STORED,
                                        .number = number};

    if (store->count)
        order_socket_answer(spawner, &reply, store->fds, store->count);
}

static void order_socket_list(struct spawner *spawner)
{
    const struct spawned *process;
    const struct own_store *own;
    struct spawner_reply reply;

    TAILQ_FOREACH(process, &spawner->processes, link) {
        order_socket_list_one(spawner, process);
        order_socket_list_store(spawner, process->number, &process->store);
    }
    for (int i = 0; i < SPAWNER_CHAINS; i++)
        LIST_FOREACH(own, &spawner->stores[i], link)
            order_socket_list_store(spawner, own->number, &own->store);
    reply = (struct spawner_reply){.version = SPAWNER_VERSION, .word = SPAWNER_LIST_END};
    order_socket_answer(spawner, &reply, NULL, 0);
}

// If descriptors are short, the next rgpud does not find what should have been stored.
static int order_socket_store(struct spawner *spawner, uint64_t number, const int *fds,
                              size_t count)
{
    struct spawned *process = number < SPAWNER_PROCESSES ? NULL : spawned_find(spawner, number);
    int err = number < SPAWNER_PROCESSES ? spawner_store_set_own(spawner, number, fds, count)
              : process                  ? spawner_store_set(&process->store, fds, count)
                                         : 0;

    if (err)
        log_error("cannot store descriptors of rgpud number=%llu error=\"%s\"",
                  (unsigned long long)number, strerror(-err));
    return err == -E2BIG ? -EPROTO : 0;
}

// Returns 0, or an error after which the connection is of no use.
static int order_socket_obey(struct spawner *spawner, const struct spawner_order *order,
                             const int *fds, size_t count)
{
    struct spawned *process;

    if (order->version != SPAWNER_VERSION)
        return -EPROTO;
    switch (order->verb) {
    case SPAWNER_START: order_socket_start(spawner, order, fds, count); return 0;
    case SPAWNER_MEMBER:
        // A worker that has ended meanwhile has nothing on a GPU.
        process = spawned_find(spawner, order->number);
        return process ? kind_add_member(spawner, process, order) : 0;
    case SPAWNER_LIST: order_socket_list(spawner); return 0;
    case SPAWNER_STORE: return order_socket_store(spawner, order->number, fds, count);
    case SPAWNER_END:
        process = spawned_find(spawner, order->number);
        if (process)
            spawned_kill(process);
        return 0;
    }
    return -EPROTO;
}

bool order_socket_take(struct spawner *spawner)
{
    struct spawner_order order;
    int fds[FDPASS_MAX], err = 0;

    for (int i = 0; i < ORDERS_PER_TURN && !err && spawner->connection >= 0; i++) {
        size_t count = FDPASS_MAX;
        ssize_t n = fdpass_receive(spawner->connection, &order, sizeof(order), fds, &count);
        if (n == -EAGAIN)
            return false;
        // The kernel reports a peer that ended without reading everything before its last orders.
        if (n == -ECONNRESET)
            continue;
        err = n < 0 ? (int)n : !n ? -ECONNRESET : n != sizeof(order) ? -EPROTO : 0;
        if (n > 0 && !err)
            err = order_socket_obey(spawner, &order, fds, count);
        for (size_t k = 0; n > 0 && k < count; k++)
            close(fds[k]);
    }
    if (!err)
        return spawner->connection >= 0;
    if (err != -ECONNRESET)
        log_error("rgpud's orders are not understood error=\"%s\"", strerror(-err));
    order_socket_close(spawner);
    return false;
}

void order_socket_greet(struct spawner *spawner)
{
    const struct spawner_reply hello = {.version = SPAWNER_VERSION,
                                        .word = SPAWNER_HELLO,
                                        .first_user = spawner->users.first,
                                        .last_user = spawner->users.last};

    order_socket_answer(spawner, &hello, NULL, 0);
}

void order_socket_report(struct spawner *spawner, const struct spawned *process, int status)
{
    const struct spawner_reply reply = {.version = SPAWNER_VERSION,
                                        .word = SPAWNER_ENDED,
                                        .number = process->number,
                                        .kind = process->kind,
                                        .pid = process->pid,
                                        .value = status};

    order_socket_answer(spawner, &reply, NULL, 0);
}
