// SPDX-License-Identifier: BSD-3-Clause
// Stands in for what the C library and libevent take from the kernel: clocks, random numbers,
// threads and timers. The product's code calls these names and gets the world's.
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "tests/simulation/exhaustive.h"
#include "tests/simulation/virtual_system.h"
#include "tests/simulation/world.h"

#define EXPORTED __attribute__((visibility("default")))
// The world begins on 2 January 2025.
#define WALL_START INT64_C(1735776000000000000)

// ---- clocks ----

static int64_t own_time(const struct host *host)
{
    return host ? world_now + (int64_t)((double)world_now * host->drift) : world_now;
}

int64_t host_wall_ns(const struct host *host)
{
    return WALL_START + own_time(host) + (host ? host->wall_offset : 0);
}

int64_t world_wall_seconds(void)
{
    return host_wall_ns(NULL) / SECOND;
}

EXPORTED int clock_gettime(clockid_t id, struct timespec *now)
{
    int64_t ns = 0;

    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        ns = host_wall_ns(world_host);
    else if (id != CLOCK_THREAD_CPUTIME_ID && id != CLOCK_PROCESS_CPUTIME_ID)
        ns = SECOND + own_time(world_host) + (world_host ? world_host->boot_offset : 0);
    *now = (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
    return 0;
}

EXPORTED time_t time(time_t *out)
{
    time_t now = (time_t)(host_wall_ns(world_host) / SECOND);

    if (out)
        *out = now;
    return now;
}

EXPORTED ssize_t getrandom(void *out, size_t size, unsigned flags)
{
    static struct dice others = {.state = 1};
    struct dice *dice = world_host ? &world_host->random : &others;

    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)out)[i] = (unsigned char)(dice_roll(dice) >> 32);
    return (ssize_t)size;
}

// ---- threads: each runs to its end where it is started ----

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*routine)(void *), void *argument)
{
    (void)attributes;
    *thread = 0;
    routine(argument);
    return 0;
}

EXPORTED int pthread_join(pthread_t thread, void **result)
{
    (void)thread;
    if (result)
        *result = NULL;
    return 0;
}

// ---- libevent's timers ----

struct timer {
    struct host *host;
    event_callback_fn function;
    void *argument;
    int fd;
    short events;
    int64_t interval; // of a persistent one
    struct planned *planned;
};

// Events of file descriptors happen when virtual_fd_ready() says so.
static struct timer *watched;

static void on_timer(void *argument)
{
    struct timer *timer = argument;

    timer->planned = NULL;
    if (timer->events & EV_PERSIST)
        timer->planned = world_after(timer->host, timer->interval, on_timer, timer);
    timer->function(timer->fd, EV_TIMEOUT, timer->argument);
}

EXPORTED struct event *event_new(struct event_base *base, evutil_socket_t fd, short events,
                                 event_callback_fn function, void *argument)
{
    struct timer *timer = exhaustive_memory_fails() ? NULL : calloc(1, sizeof(*timer));

    (void)base;
    if (!timer)
        return NULL;
    *timer = (struct timer){
        .host = world_host, .function = function, .argument = argument, .fd = fd, .events = events};
    return (struct event *)timer;
}

EXPORTED int event_add(struct event *event, const struct timeval *timeout)
{
    struct timer *timer = (struct timer *)event;

    if (timer->fd >= 0)
        watched = timer;
    if (!timeout)
        return 0;
    if (timer->planned)
        world_cancel(timer->planned);
    timer->interval = timeout->tv_sec * SECOND + timeout->tv_usec * 1000;
    timer->planned = world_after(timer->host, timer->interval, on_timer, timer);
    return 0;
}

EXPORTED int event_del(struct event *event)
{
    struct timer *timer = (struct timer *)event;

    if (timer->planned)
        world_cancel(timer->planned);
    timer->planned = NULL;
    return 0;
}

EXPORTED void event_free(struct event *event)
{
    event_del(event);
    if (watched == (struct timer *)event)
        watched = NULL;
    free(event);
}

EXPORTED int event_pending(const struct event *event, short events, struct timeval *out)
{
    (void)events;
    (void)out;
    return ((const struct timer *)event)->planned != NULL;
}

EXPORTED int event_priority_set(struct event *event, int priority)
{
    (void)event;
    (void)priority;
    return 0;
}

static void on_ready(void *argument)
{
    struct timer *timer = argument;

    if (timer == watched)
        timer->function(timer->fd, EV_READ, timer->argument);
}

void virtual_fd_ready(void)
{
    if (watched)
        world_after(watched->host, 0, on_ready, watched);
}

void virtual_fd_forget(void)
{
    watched = NULL;
}
