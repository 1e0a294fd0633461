// SPDX-License-Identifier: BSD-3-Clause
// See askers.h.
#include "daemon/askers.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/helper.h"
#include "common/log_limit.h"
#include "common/scope.h"

enum {
    ACCEPTS_AT_ONCE = 8, // then what others have sent is read, before they could be one too many
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

static void drop(struct asker *asker)
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
    drop(argument);
}

static void failed(struct bufferevent *channel, short events, void *argument)
{
    drop(argument);
}

static void too_late(evutil_socket_t fd, short events, void *argument)
{
    drop(argument);
}

static void readable(struct bufferevent *channel, void *argument)
{
    struct asker *asker = argument;
    const struct asker_rules *rules = asker->all->rules;
    const struct timeval limit = {.tv_sec = rules->seconds};
    struct evbuffer *in = bufferevent_get_input(channel);
    struct evbuffer_ptr end = evbuffer_search(in, rules->end, strlen(rules->end), NULL);

    if (end.pos < 0 && evbuffer_get_length(in) < rules->size_max)
        return;
    SCOPED_FREE char *line = end.pos < 0 ? NULL : evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF);
    evtimer_del(asker->deadline);
    bufferevent_disable(channel, EV_READ);
    bufferevent_set_timeouts(channel, NULL, &limit);
    bufferevent_setcb(channel, NULL, written, failed, asker);
    rules->answer(asker->all->argument, line ? line : "", bufferevent_get_output(channel));
}

static void add(struct askers *askers, int fd)
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
        drop(asker);
        return;
    }
    bufferevent_setcb(asker->channel, readable, NULL, failed, asker);
    bufferevent_setwatermark(asker->channel, EV_READ, 0, askers->rules->size_max);
    bufferevent_enable(asker->channel, EV_READ | EV_WRITE);
}

// A connection that cannot be accepted without descriptors stays announced. Without a pause the event loop would do
// nothing but accept it in vain.
static void rest(struct askers *askers, int error)
{
    const struct timeval pause = {.tv_usec = PAUSE_US};

    log_limited(&askers->lines, LOG_LEVEL_WARN, "cannot accept who asks error=\"%s\"",
                strerror(error));
    event_del(askers->arrival);
    evtimer_add(askers->resume, &pause);
}

static void resume(evutil_socket_t fd, short events, void *argument)
{
    struct askers *askers = argument;

    event_add(askers->arrival, NULL);
}

// False: there is none, for now.
static bool take_one(struct askers *askers)
{
    int fd = accept4(askers->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            rest(askers, errno);
        return false;
    }
    // Honest askers need milliseconds, so that a crowd of silent ones keeps nobody out.
    if (askers->count >= askers->rules->count_max)
        drop(TAILQ_FIRST(&askers->list));
    add(askers, fd);
    return true;
}

static void arrives(evutil_socket_t fd, short events, void *argument)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE && take_one(argument); i++)
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
    askers->resume = evtimer_new(base, resume, askers);
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
        drop(TAILQ_FIRST(&askers->list));
    if (askers->arrival)
        event_free(askers->arrival);
    if (askers->resume)
        event_free(askers->resume);
    close(askers->fd);
    free(askers);
}
