// SPDX-License-Identifier: BSD-3-Clause
// Handshake: the client presents the one-time token, receives descriptors and geometry, maps the
// memory, and confirms.
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/net/worker_socket.h"
#include "common/base/scope.h"
#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "common/base/log_limit.h"
#include "common/security/sha256.h"
#include "transport/shm/shm_private.h"
#include "common/base/wait.h"

#define SHM_MAGIC 0x4d485352u

enum {
    SHM_VERSION = 1,
    CANDIDATES = SHM_CANDIDATES, // connections whose token has not come yet; the oldest makes room
    WATCHED = 1 + SHM_LISTENERS, // before them in the poll list
    DESCRIPTORS = 1 + SHM_DIRECTIONS * SHM_EVENTS,
};

struct hello {
    uint32_t magic;
    uint32_t version;
    uint8_t token[32];
};

struct offer {
    uint32_t magic;
    uint32_t version;
    struct shm_geometry geometry;
};

struct ready {
    uint32_t magic;
    uint32_t mapped;
};

_Static_assert(sizeof(struct hello) == 40, "layout is part of the protocol");
_Static_assert(sizeof(struct offer) == 32, "layout is part of the protocol");
_Static_assert((int)DESCRIPTORS <= (int)FDPASS_MAX, "all descriptors go in one message");

// ---- the worker's side ----

static struct log_limit turned_away = LOG_LIMIT(5, 60);

struct accepting {
    const struct shm_listener *listener;
    int watch;
    uint64_t deadline;
    const uint8_t *token;
    int candidates[CANDIDATES]; // oldest first
    size_t count;
};

static int take_candidate(struct accepting *accepting, size_t which)
{
    int fd = accepting->candidates[which];

    accepting->count--;
    memmove(&accepting->candidates[which], &accepting->candidates[which + 1],
            (accepting->count - which) * sizeof(int));
    return fd;
}

static void drop_candidate(struct accepting *accepting, size_t which)
{
    close(take_candidate(accepting, which));
}

static void shm_connect_add_candidate(struct accepting *accepting, int listener)
{
    int fd = descriptor_own(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));

    if (fd < 0)
        return;
    if (accepting->count == CANDIDATES)
        drop_candidate(accepting, 0);
    accepting->candidates[accepting->count++] = fd;
}

static bool has_token(const struct accepting *accepting, int fd)
{
    struct hello hello;
    ssize_t n = recv(fd, &hello, sizeof(hello), MSG_DONTWAIT | MSG_TRUNC);

    // A peer that closes without data only tested whether the socket can be reached, as clients do.
    if (n <= 0)
        return false;
    bool right = n == sizeof(hello) && hello.magic == SHM_MAGIC && hello.version == SHM_VERSION &&
                 secret_equal(hello.token, accepting->token, sizeof(hello.token));
    if (!right)
        log_limited(&turned_away, LOG_LEVEL_WARN, "%s",
                    "a local process without the token was turned away");
    return right;
}

static short wait_for(const struct accepting *accepting, struct pollfd *wait, int *error)
{
    int ready;

    wait[0] = (struct pollfd){.fd = accepting->watch, .events = POLLIN | POLLRDHUP};
    for (int i = 0; i < SHM_LISTENERS; i++)
        wait[1 + i] = (struct pollfd){.fd = accepting->listener->fds[i], .events = POLLIN};
    for (size_t i = 0; i < accepting->count; i++)
        wait[WATCHED + i] = (struct pollfd){.fd = accepting->candidates[i], .events = POLLIN};
    ready = poll(wait, WATCHED + accepting->count, deadline_left(accepting->deadline));
    *error = 0;
    if (ready == 0)
        *error = -ETIMEDOUT;
    else if (ready < 0 && errno != EINTR)
        *error = -errno;
    return ready > 0 ? wait[0].revents : 0;
}

static int watch_error(short revents)
{
    return revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL) ? -ECONNRESET : -ECANCELED;
}

// The connection of the client that knows the token, or -errno.
static int await_client(struct accepting *accepting)
{
    struct pollfd wait[WATCHED + CANDIDATES];

    for (;;) {
        int error;
        short watched = wait_for(accepting, wait, &error);
        if (error)
            return error;
        for (size_t i = accepting->count; i-- > 0;) {
            if (!wait[WATCHED + i].revents)
                continue;
            if (has_token(accepting, accepting->candidates[i]))
                return take_candidate(accepting, i);
            drop_candidate(accepting, i);
        }
        if (watched)
            return watch_error(watched);
        for (int i = 0; i < SHM_LISTENERS; i++)
            if (wait[1 + i].revents)
                shm_connect_add_candidate(accepting, wait[1 + i].fd);
    }
}

// Waits for a message on FD, at most until DEADLINE and not beyond the end of WATCH.
static int wait_readable(int fd, int watch, short watch_events, uint64_t deadline)
{
    struct pollfd wait[] = {{.fd = fd, .events = POLLIN},
                            {.fd = watch, .events = watch_events | POLLRDHUP}};

    for (;;) {
        int ready = poll(wait, 2, deadline_left(deadline));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return -errno;
        if (!ready)
            return -ETIMEDOUT;
        return wait[0].revents ? 0 : watch_error(wait[1].revents);
    }
}

static int offer_memory(const struct shm_memory *memory, int fd, int watch, uint64_t deadline)
{
    struct offer offer = {.magic = SHM_MAGIC, .version = SHM_VERSION};
    struct ready ready;
    int fds[DESCRIPTORS] = {memory->fd};
    int r;

    memcpy(&fds[1], memory->events, sizeof(memory->events));
    shm_memory_geometry(memory, &offer.geometry);
    r = fdpass_send(fd, &offer, sizeof(offer), fds, DESCRIPTORS);
    if (!r)
        r = wait_readable(fd, watch, POLLIN, deadline);
    if (r)
        return r;
    if (recv(fd, &ready, sizeof(ready), MSG_DONTWAIT) != sizeof(ready) ||
        ready.magic != SHM_MAGIC || ready.mapped != 1)
        return -EPROTO;
    return 0;
}

int link_shm_accept(const struct shm_listener *listener, const uint8_t token[32],
                    struct shm_memory **memory, int watch, int timeout_ms,
                    const struct link_options *options, struct link **out)
{
    struct accepting accepting = {
        .listener = listener, .watch = watch, .deadline = deadline_in(timeout_ms), .token = token};
    int fd = await_client(&accepting);
    int r = fd < 0 ? fd : 0;

    while (accepting.count)
        drop_candidate(&accepting, 0);
    if (r)
        return r;
    r = offer_memory(*memory, fd, watch, accepting.deadline);
    if (!r)
        r = shm_link_new("shm", SHM_WORKER, memory, fd, watch, options, out);
    if (r)
        close(fd);
    return r;
}

// ---- the client's side ----

static int receive_offer(int fd, struct shm_memory **out)
{
    struct offer offer;
    int fds[DESCRIPTORS];
    size_t count = DESCRIPTORS;
    ssize_t n = fdpass_receive(fd, &offer, sizeof(offer), fds, &count);

    if (n < 0)
        return (int)n;
    if (n == 0 && count == 0)
        return -EACCES; // this is how a wrong token is answered
    if (n != sizeof(offer) || count != DESCRIPTORS || offer.magic != SHM_MAGIC ||
        offer.version != SHM_VERSION) {
        while (count)
            close(fds[--count]);
        return -EPROTO;
    }
    return shm_memory_map(fds[0], &fds[1], &offer.geometry, out);
}

static int send_message(int fd, const void *message, size_t size)
{
    return send(fd, message, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -errno;
}

int link_shm_connect(const char *name, const char *directory, const uint8_t token[32], int watch,
                     int timeout_ms, const struct link_options *options, struct link **out)
{
    int fd = worker_socket_reach(name, directory, timeout_ms);

    return fd < 0 ? fd : link_shm_join(fd, token, watch, timeout_ms, options, out);
}

int link_shm_join(int fd, const uint8_t token[32], int watch, int timeout_ms,
                  const struct link_options *options, struct link **out)
{
    struct hello hello = {.magic = SHM_MAGIC, .version = SHM_VERSION};
    struct ready ready = {.magic = SHM_MAGIC, .mapped = 1};
    struct shm_memory *memory = NULL;

    memcpy(hello.token, token, sizeof(hello.token));
    int r = send_message(fd, &hello, sizeof(hello));
    if (!r)
        r = wait_readable(fd, watch, 0, deadline_in(timeout_ms));
    if (!r)
        r = receive_offer(fd, &memory);
    if (!r)
        r = send_message(fd, &ready, sizeof(ready));
    if (!r)
        r = shm_link_new("shm", SHM_CLIENT, &memory, fd, watch, options, out);
    if (r) {
        shm_memory_free(&memory);
        close(fd);
    }
    return r;
}
