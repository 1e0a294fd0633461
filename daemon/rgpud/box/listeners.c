// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/listeners.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/endpoint.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/service/sealed_file.h"
#include "daemon/rgpud/box/spawner_client.h"

enum {
    LISTENERS_MAX = 16,
    BACKLOG = 1024,
    ACCEPTS_AT_ONCE = 64, // then other events are handled
    PAUSE_US = 200000,    // after running out of descriptors
};

struct listener {
    struct endpoint endpoint;
    int fd;
    struct event *event;
};

struct listeners {
    void (*arrived)(struct box *box, int fd);
    struct listener all[LISTENERS_MAX];
    size_t count;
    struct event *resume;
    bool paused;
};

static void set_paused(struct listeners *listeners, bool paused)
{
    if (listeners->paused == paused)
        return;
    listeners->paused = paused;
    for (size_t i = 0; i < listeners->count; i++) {
        if (paused)
            event_del(listeners->all[i].event);
        else
            event_add(listeners->all[i].event, NULL);
    }
}

void listeners_hold(struct box *box, bool hold)
{
    set_paused(box->listeners, hold);
}

static void listeners_resume(evutil_socket_t fd, short events, void *argument)
{
    struct box *box = argument;

    if (box->listeners)
        set_paused(box->listeners, false);
}

static bool is_out_of_resources(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void listeners_acceptable(evutil_socket_t fd, short events, void *argument)
{
    struct box *box = argument;

    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client >= 0) {
            box->listeners->arrived(box, client);
        } else if (is_out_of_resources(errno)) {
            struct timeval pause = {.tv_usec = PAUSE_US};
            log_error("cannot accept clients error=\"%s\"", strerror(errno));
            set_paused(box->listeners, true);
            evtimer_add(box->listeners->resume, &pause);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

static int listeners_parse(const char *text, struct endpoint *endpoint)
{
    int err = endpoint_parse(text, 0, endpoint);

    if (err)
        config_complain(settings_table, "box", "listen",
                        "listen=%s is not host:port, [ipv6]:port or unix:/path", text);
    return err;
}

int listeners_check(const struct box_settings *settings)
{
    struct endpoint endpoint;
    size_t count = 0;
    int err = 0;

    for (char **text = settings->listen; *text; text++, count++)
        if (listeners_parse(*text, &endpoint))
            err = -EINVAL;
    if (count && count <= LISTENERS_MAX)
        return err;
    config_complain(settings_table, "box", "listen",
                    "listen has %zu addresses, and must have 1 to %d", count, LISTENERS_MAX);
    return -EINVAL;
}

// ---- sockets that outlive rgpud ----
//
// The spawner keeps each socket with the text of its setting. Clients that come while there is no
// rgpud wait in the socket's queue for the next one.

static uint64_t store_number(size_t index)
{
    return SPAWNER_STORE_LISTENER + index;
}

static void store_listener(struct box *box, size_t index, const char *text)
{
    SCOPED_FD int name = sealed_file_make("rgpu-listen", text, strlen(text));
    const int fds[] = {box->listeners->all[index].fd, name};

    if (name >= 0)
        spawner_store(box, store_number(index), fds, 2);
}

static bool is_stored_as(const struct spawner_kept *kept, const char *text)
{
    char name[ENDPOINT_TEXT_MAX];
    int size = kept->stored_count == 2 ? sealed_file_read(kept->stored[1], name, sizeof(name)) : -1;

    return size == (int)strlen(text) && !memcmp(name, text, (size_t)size);
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    if (getsockname(fd, (struct sockaddr *)&address, &size))
        return 0;
    return ntohs(address.ss_family == AF_INET    ? ((struct sockaddr_in *)&address)->sin_port
                 : address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                 : 0);
}

// Takes one of the kept sockets for a setting. Returns -1 if there is none.
static int match(struct spawner_kept **kept, const char *text)
{
    int fd = -1;

    for (size_t i = 0; i < LISTENERS_MAX && fd < 0; i++)
        if (kept[i] && kept[i]->stored[0] >= 0 && is_stored_as(kept[i], text)) {
            fd = kept[i]->stored[0];
            kept[i]->stored[0] = -1;
        }
    return fd;
}

// Sets FDS to the sockets of an earlier rgpud for these settings, or -1. Others are closed, so that
// their addresses are free.
static void take_kept(struct box *box, int fds[LISTENERS_MAX])
{
    struct spawner_kept *kept[LISTENERS_MAX];
    char **text = box->settings.listen;

    for (size_t i = 0; i < LISTENERS_MAX; i++) {
        kept[i] = spawner_take_stored(box, store_number(i));
        fds[i] = -1;
        if (kept[i])
            spawner_store(box, store_number(i), NULL, 0);
    }
    for (size_t i = 0; i < LISTENERS_MAX && text[i]; i++)
        fds[i] = match(kept, text[i]);
    for (size_t i = 0; i < LISTENERS_MAX; i++)
        if (kept[i])
            spawner_kept_free(&kept[i]);
}

// ---- opening ----

// FD is the socket of an earlier rgpud, or -1.
static int listeners_open_one(struct box *box, const char *text, int fd)
{
    struct listeners *listeners = box->listeners;
    struct listener *listener = &listeners->all[listeners->count];

    if (listeners_parse(text, &listener->endpoint))
        return -EINVAL;
    listener->fd = fd;
    // Any user may connect to a unix socket, as to an address. The ticket authenticates the user.
    mode_t mask = umask(0);
    if (fd < 0)
        listener->fd = endpoint_listen(&listener->endpoint, BACKLOG, &listener->endpoint.port);
    else
        listener->endpoint.port = port_of(fd);
    umask(mask);
    if (listener->fd < 0) {
        log_error("cannot listen=%s error=\"%s\"", text, strerror(-listener->fd));
        return listener->fd;
    }
    listener->event =
        event_new(box->base, listener->fd, EV_READ | EV_PERSIST, listeners_acceptable, box);
    if (!listener->event || event_add(listener->event, NULL)) {
        close(listener->fd);
        return -ENOMEM;
    }
    store_listener(box, listeners->count++, text);
    return 0;
}

int listeners_open(struct box *box, void (*arrived)(struct box *box, int fd))
{
    int fds[LISTENERS_MAX];

    box->listeners = calloc(1, sizeof(*box->listeners));
    if (!box->listeners)
        return -ENOMEM;
    take_kept(box, fds);
    box->listeners->arrived = arrived;
    box->listeners->resume = evtimer_new(box->base, listeners_resume, box);
    int err = box->listeners->resume ? 0 : -ENOMEM;
    for (size_t i = 0; !err && box->settings.listen[i]; i++)
        err = listeners_open_one(box, box->settings.listen[i], fds[i]);
    if (err)
        listeners_close(box);
    return err;
}

void listeners_close(struct box *box)
{
    struct listeners *listeners = box->listeners;

    if (!listeners)
        return;
    for (size_t i = 0; i < listeners->count; i++) {
        event_free(listeners->all[i].event);
        close(listeners->all[i].fd);
        spawner_store(box, store_number(i), NULL, 0);
        if (listeners->all[i].endpoint.is_unix)
            unlink(listeners->all[i].endpoint.host);
    }
    if (listeners->resume)
        event_free(listeners->resume);
    free(listeners);
    box->listeners = NULL;
}

void listeners_text(const struct box *box, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; box->listeners && i < box->listeners->count && used < size; i++) {
        char one[ENDPOINT_TEXT_MAX];
        endpoint_format(&box->listeners->all[i].endpoint, one);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", one);
    }
}
