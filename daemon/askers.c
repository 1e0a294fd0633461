// SPDX-License-Identifier: BSD-3-Clause
// See askers.h.
#include "daemon/askers.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/helper.h"
#include "common/scope.h"

struct askers {
    struct event_base *base;
    struct evconnlistener *listener;
    const struct asker_rules *rules;
    void *argument;
    unsigned count;
};

static void drop(struct bufferevent *asker, struct askers *askers)
{
    int fd = bufferevent_getfd(asker);

    bufferevent_free(asker);
    close_aside(fd);
    askers->count--;
}

static void written(struct bufferevent *asker, void *argument)
{
    drop(asker, argument);
}

static void failed(struct bufferevent *asker, short events, void *argument)
{
    drop(asker, argument);
}

static void readable(struct bufferevent *asker, void *argument)
{
    struct askers *askers = argument;
    const struct asker_rules *rules = askers->rules;
    struct evbuffer *in = bufferevent_get_input(asker);
    struct evbuffer_ptr end = evbuffer_search(in, rules->end, strlen(rules->end), NULL);

    if (end.pos < 0 && evbuffer_get_length(in) < rules->size_max)
        return;
    SCOPED_FREE char *line = end.pos < 0 ? NULL : evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF);
    bufferevent_disable(asker, EV_READ);
    bufferevent_setcb(asker, NULL, written, failed, askers);
    rules->answer(askers->argument, line ? line : "", bufferevent_get_output(asker));
}

static void arrives(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                    int size, void *argument)
{
    struct askers *askers = argument;
    struct timeval limit = {.tv_sec = askers->rules->seconds};
    struct bufferevent *asker = NULL;

    if (askers->count < askers->rules->count_max)
        asker = bufferevent_socket_new(askers->base, fd, 0);
    if (!asker) {
        close_aside(fd);
        return;
    }
    askers->count++;
    bufferevent_setcb(asker, readable, NULL, failed, askers);
    bufferevent_set_timeouts(asker, &limit, &limit);
    bufferevent_setwatermark(asker, EV_READ, 0, askers->rules->size_max);
    bufferevent_enable(asker, EV_READ | EV_WRITE);
}

int askers_open(struct event_base *base, int fd, const struct asker_rules *rules, void *argument,
                struct askers **out)
{
    struct askers *askers = calloc(1, sizeof(*askers));

    if (askers) {
        *askers = (struct askers){.base = base, .rules = rules, .argument = argument};
        askers->listener = evconnlistener_new(base, arrives, askers,
                                              LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    }
    if (!askers || !askers->listener) {
        free(askers);
        close(fd);
        return -ENOMEM;
    }
    *out = askers;
    return 0;
}

void askers_close(struct askers **askers)
{
    if (!*askers)
        return;
    evconnlistener_free((*askers)->listener);
    free(*askers);
    *askers = NULL;
}
