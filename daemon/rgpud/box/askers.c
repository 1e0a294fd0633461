// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/askers.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/service/helper.h"
#include "common/base/log_limit.h"
#include "common/base/scope.h"

enum {
    ACCEPTS_AT_ONCE = 8, // then pending input is read, before those connections become surplus
    PAUSE_US = 200000,   // after running out of descriptors
};

struct asker {
    TAILQ_ENTRY(asker) link;
    struct askers *all;
    int fd;
    struct bufferevent *channel;
    struct event *deadline; // of the question
};

struct askers {
    struct event_base *base;
    int fd;
    struct event *arrival, *resume;
    const struct asker_rules *rules;
    void *argument;
    TAILQ_HEAD(, asker) list; // oldest first
    unsigned count;
    struct log_limit lines;
};

static void askers_drop(struct asker *asker)
{
    TAILQ_REMOVE(&asker->all->list, asker, link);
    asker->all->count--;
    if (asker->channel)
        bufferevent_free(asker->channel);
    if (asker->deadline)
        event_free(asker->deadline);
    close_aside(asker->fd);
    free(asker);
}

static void written(struct bufferevent *channel, void *argument)
{
    askers_drop(argument);
}

static void askers_failed(struct bufferevent *channel, short events, void *argument)
{
    askers_drop(argument);
}

static void too_late(evutil_socket_t fd, short events, void *argument)
{
    askers_drop(argument);
}

static void askers_readable(struct bufferevent *channel, void *argument)
{
    struct asker *asker = argument;
    const struct asker_rules *rules = asker->all->rules;
    const struct timeval limit = {.tv_sec = rules->seconds};
    struct evbuffer *in = bufferevent_get_input(channel);
    struct evbuffer_ptr end = evbuffer_search(in, rules->end, strlen(rules->end), NULL);

    if (end.pos < 0 && evbuffer_get_length(in) < rules->size_max)
        return;
    SCOPED_FREE char *question = end.pos < 0 ? NULL : calloc(1, (size_t)end.pos + 1);
    if (question)
        evbuffer_remove(in, question, (size_t)end.pos);
    evtimer_del(asker->deadline);
    bufferevent_disable(channel, EV_READ);
    bufferevent_set_timeouts(channel, NULL, &limit);
    bufferevent_setcb(channel, NULL, written, askers_failed, asker);
    rules->answer(asker->all->argument, question ? question : "", bufferevent_get_output(channel));
}

static void askers_add(struct askers *askers, int fd)
{
    const struct timeval limit = {.tv_sec = askers->rules->seconds};
    struct asker *asker = calloc(1, sizeof(*asker));

    if (!asker) {
        close_aside(fd);
        return;
    }
    asker->all = askers;
    asker->fd = fd;
    TAILQ_INSERT_TAIL(&askers->list, asker, link);
    askers->count++;
    asker->deadline = evtimer_new(askers->base, too_late, asker);
    asker->channel = bufferevent_socket_new(askers->base, fd, 0);
    if (!asker->channel || !asker->deadline || evtimer_add(asker->deadline, &limit)) {
        askers_drop(asker);
        return;
    }
    bufferevent_setcb(asker->channel, askers_readable, NULL, askers_failed, asker);
    bufferevent_setwatermark(asker->channel, EV_READ, 0, askers->rules->size_max);
    bufferevent_enable(asker->channel, EV_READ | EV_WRITE);
}

// Pauses accepting. A connection that cannot be accepted without descriptors stays pending, and the
// event loop would only retry it.
static void rest(struct askers *askers, int error)
{
    const struct timeval pause = {.tv_usec = PAUSE_US};

    log_limited(&askers->lines, LOG_LEVEL_WARN, "cannot accept who asks error=\"%s\"",
                strerror(error));
    event_del(askers->arrival);
    evtimer_add(askers->resume, &pause);
}

static void askers_resume(evutil_socket_t fd, short events, void *argument)
{
    struct askers *askers = argument;

    event_add(askers->arrival, NULL);
}

// Accepts one connection. Returns false if there is none for now.
static bool askers_take_one(struct askers *askers)
{
    int fd = accept4(askers->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            rest(askers, errno);
        return false;
    }
    // Honest peers need milliseconds, so silent connections cannot keep them out.
    if (askers->count >= askers->rules->count_max)
        askers_drop(TAILQ_FIRST(&askers->list));
    askers_add(askers, fd);
    return true;
}

static void arrives(evutil_socket_t fd, short events, void *argument)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE && askers_take_one(argument); i++)
        ;
}

int askers_open(struct event_base *base, int fd, const struct asker_rules *rules, void *argument,
                struct askers **out)
{
    struct askers *askers = calloc(1, sizeof(*askers));

    if (!askers) {
        close(fd);
        return -ENOMEM;
    }
    *askers = (struct askers){
        .base = base, .fd = fd, .rules = rules, .argument = argument, .lines = LOG_LIMIT(1, 60)};
    TAILQ_INIT(&askers->list);
    askers->arrival = event_new(base, fd, EV_READ | EV_PERSIST, arrives, askers);
    askers->resume = evtimer_new(base, askers_resume, askers);
    if (!askers->arrival || !askers->resume || event_add(askers->arrival, NULL)) {
        askers_close(&askers);
        return -ENOMEM;
    }
    *out = askers;
    return 0;
}

void askers_close(struct askers **pointer)
{
    struct askers *askers = *pointer;

    if (!askers)
        return;
    *pointer = NULL;
    while (!TAILQ_EMPTY(&askers->list))
        askers_drop(TAILQ_FIRST(&askers->list));
    if (askers->arrival)
        event_free(askers->arrival);
    if (askers->resume)
        event_free(askers->resume);
    close(askers->fd);
    free(askers);
}
