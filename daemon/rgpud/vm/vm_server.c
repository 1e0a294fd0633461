// SPDX-License-Identifier: BSD-3-Clause
// The server sends the version (0), the peer's number (0), -1 with the memory, and then the numbers
// from 1 with one doorbell each. Peer 0 has no doorbells, so the guest needs no driver.
#include "daemon/rgpud/vm/vm_server.h"

#include <errno.h>
#include <event2/util.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/fdpass.h"
#include "common/service/helper.h"
#include "common/base/log_limit.h"
#include "common/base/scope.h"

enum { MACHINES_MAX = 64, WORDS_BEFORE_DOORBELLS = 3 };

struct machine {
    TAILQ_ENTRY(machine) link;
    struct vm_server *server;
    int fd;
    unsigned said; // number of words sent
    struct event *readable, *writable;
};

struct vm_server {
    struct vm_server_window window;
    struct event_base *base;
    struct event *acceptable;
    int listener;
    unsigned count;
    TAILQ_HEAD(, machine) machines;
};

static void machine_free(struct machine *machine)
{
    TAILQ_REMOVE(&machine->server->machines, machine, link);
    machine->server->count--;
    if (machine->readable)
        event_free(machine->readable);
    if (machine->writable)
        event_free(machine->writable);
    close_aside(machine->fd);
    free(machine);
}

static void vm_server_leaves(struct machine *machine)
{
    struct vm_server *server = machine->server;

    machine_free(machine);
    if (!server->count)
        server->window.machine_left(server->window.argument);
}

static int say_word(const struct machine *machine)
{
    const struct vm_server_window *window = &machine->server->window;
    unsigned doorbell = machine->said - WORDS_BEFORE_DOORBELLS;
    int64_t word = 0; // the version, then the peer's own number
    int fd = -1;

    if (machine->said == WORDS_BEFORE_DOORBELLS - 1) {
        word = -1;
        fd = window->memory;
    } else if (machine->said >= WORDS_BEFORE_DOORBELLS) {
        word = 1 + (int64_t)doorbell;
        fd = window->doorbells[doorbell];
    }
    return fdpass_send(machine->fd, &word, sizeof(word), &fd, fd >= 0 ? 1 : 0);
}

static void vm_server_say(struct machine *machine)
{
    unsigned all = WORDS_BEFORE_DOORBELLS + machine->server->window.doorbell_count;
    int err = 0;

    while (!err && machine->said < all) {
        err = say_word(machine);
        machine->said += !err;
    }
    // The kernel counts descriptors in flight for the whole user. They become free as the peers
    // receive them.
    if (err == -EAGAIN || err == -ETOOMANYREFS)
        event_add(machine->writable, NULL);
    else if (err)
        vm_server_leaves(machine);
}

static void writable(evutil_socket_t fd, short events, void *argument)
{
    vm_server_say(argument);
}

static void vm_server_readable(evutil_socket_t fd, short events, void *argument)
{
    uint8_t bytes[64];
    ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    // A peer sends nothing in this protocol.
    if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        vm_server_leaves(argument);
}

static bool may_connect(const struct vm_server *server, int fd)
{
    static struct log_limit others = LOG_LIMIT(5, 60);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return false;
    if (!peer.uid || peer.uid == server->window.user || peer.uid == geteuid())
        return true;
    log_limited(&others, LOG_LEVEL_WARN,
                "somebody else wants the window of a virtual machine uid=%u pid=%d",
                (unsigned)peer.uid, (int)peer.pid);
    return false;
}

static void vm_server_acceptable(evutil_socket_t listener, short events, void *argument)
{
    struct vm_server *server = argument;
    SCOPED_FD int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct machine *machine;

    if (fd < 0 || server->count == MACHINES_MAX || !may_connect(server, fd) ||
        !(machine = calloc(1, sizeof(*machine))))
        return;
    machine->server = server;
    machine->fd = scoped_take_fd(&fd);
    TAILQ_INSERT_TAIL(&server->machines, machine, link);
    server->count++;
    machine->readable =
        event_new(server->base, machine->fd, EV_READ | EV_PERSIST, vm_server_readable, machine);
    machine->writable = event_new(server->base, machine->fd, EV_WRITE, writable, machine);
    if (!machine->readable || !machine->writable || event_add(machine->readable, NULL))
        machine_free(machine);
    else
        vm_server_say(machine);
}

int vm_server_open(struct event_base *base, int listener, const struct vm_server_window *window,
                   struct vm_server **out)
{
    struct vm_server *server = calloc(1, sizeof(*server));

    if (!server) {
        close(listener);
        return -ENOMEM;
    }
    *server = (struct vm_server){.window = *window, .base = base, .listener = listener};
    TAILQ_INIT(&server->machines);
    server->acceptable =
        event_new(base, listener, EV_READ | EV_PERSIST, vm_server_acceptable, server);
    if (!server->acceptable || event_add(server->acceptable, NULL)) {
        vm_server_close(&server);
        return -ENOMEM;
    }
    *out = server;
    return 0;
}

unsigned vm_server_machines(const struct vm_server *server)
{
    return server->count;
}

void vm_server_close(struct vm_server **server)
{
    struct vm_server *old = *server;

    if (!old)
        return;
    *server = NULL;
    if (old->acceptable)
        event_free(old->acceptable);
    close(old->listener);
    while (!TAILQ_EMPTY(&old->machines))
        machine_free(TAILQ_FIRST(&old->machines));
    free(old);
}
