// SPDX-License-Identifier: BSD-3-Clause
#include "broker/http/http_listeners.h"

#include <errno.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/net/endpoint.h"
#include "common/base/log_limit.h"

enum { LISTENERS_MAX = 16, BACKLOG = 1024, REST_MS = 500 };

struct http_listeners {
    struct event_base *base;
    struct connections *connections;
    struct evconnlistener *all[LISTENERS_MAX];
    size_t count;
    struct event *wake; // after a rest
    struct log_limit lines;
    char *path;       // of the unix socket, or NULL
    struct stat made; // what we made there
};

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *argument)
{
    struct http_listeners *self = argument;

    (void)listener;
    (void)size;
    connection_accept(self->connections, fd, address);
}

// A connection that cannot be accepted without a descriptor stays pending. Without a pause the
// event loop would only poll it.
static void on_error(struct evconnlistener *listener, void *argument)
{
    const struct timeval rest = {.tv_usec = REST_MS * 1000};
    struct http_listeners *self = argument;
    int error = errno;

    (void)listener;
    log_limited(&self->lines, LOG_LEVEL_WARN, "new connections wait: accept=\"%s\" connections=%zu",
                strerror(error), connections_count(self->connections));
    for (size_t i = 0; i < self->count; i++)
        evconnlistener_disable(self->all[i]);
    event_add(self->wake, &rest);
}

static void on_wake(evutil_socket_t fd, short events, void *argument)
{
    struct http_listeners *self = argument;

    (void)fd;
    (void)events;
    for (size_t i = 0; i < self->count; i++)
        evconnlistener_enable(self->all[i]);
}

// Takes over a listening socket.
static int add_listener(struct http_listeners *self, int fd)
{
    struct evconnlistener *listener = NULL;

    if (self->count < LISTENERS_MAX)
        listener = evconnlistener_new(self->base, on_accept, self,
                                      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!listener) {
        close(fd);
        return self->count == LISTENERS_MAX ? -E2BIG : -ENOMEM;
    }
    evconnlistener_set_error_cb(listener, on_error);
    self->all[self->count++] = listener;
    return 0;
}

static int listen_on(struct http_listeners *self, const struct endpoint *endpoint)
{
    uint16_t port;
    int fd = endpoint_listen(endpoint, BACKLOG, &port);

    return fd < 0 ? fd : add_listener(self, fd);
}

// ---- the unix socket ----

// Returns 1 if a program answers there, 0 if none does any more.
static int somebody_listens(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), result;

    if (fd < 0)
        return -errno;
    result = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 1
             : errno == ECONNREFUSED                                              ? 0
             : errno == EAGAIN                                                    ? 1
                                                                                  : -errno;
    close(fd);
    return result;
}

// Removes the socket that a killed broker left behind, and nothing else that may be at the path.
static int clear_path(const struct sockaddr_un *address)
{
    const char *path = address->sun_path;
    struct stat found;
    int listens;

    if (lstat(path, &found) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(found.st_mode)) {
        log_error("socket=%s: something else is there, which is not removed", path);
        return -EEXIST;
    }
    listens = somebody_listens(address);
    if (listens == 1)
        log_error("socket=%s: another program listens there", path);
    if (listens)
        return listens == 1 ? -EADDRINUSE : listens;
    log_info("socket=%s: left by a program that has ended, removed", path);
    return unlink(path) < 0 ? -errno : 0;
}

static int http_listeners_listen_unix(struct http_listeners *self, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct endpoint endpoint = {.is_unix = true};
    int error;

    if (strlen(path) >= sizeof(address.sun_path)) {
        log_error("socket=%s is too long for a unix socket", path);
        return -ENAMETOOLONG;
    }
    strcpy(address.sun_path, path);
    strcpy(endpoint.host, path);
    error = clear_path(&address);
    if (!error)
        error = listen_on(self, &endpoint);
    if (!error && (chmod(path, 0666) < 0 || lstat(path, &self->made) < 0))
        error = -errno;
    if (error) {
        log_error("socket=%s: %s", path, strerror(-error));
        return error;
    }
    self->path = strdup(path);
    return 0;
}

static void remove_path(const struct http_listeners *self)
{
    struct stat found;

    if (self->path && lstat(self->path, &found) == 0 && found.st_dev == self->made.st_dev &&
        found.st_ino == self->made.st_ino)
        unlink(self->path);
}

// ---- addresses ----

static void say_address(const struct evconnlistener *listener)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    char host[NI_MAXHOST], port[NI_MAXSERV];
    int fd = evconnlistener_get_fd((struct evconnlistener *)listener);

    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    printf(strchr(host, ':') ? "listening on [%s]:%s\n" : "listening on %s:%s\n", host, port);
}

static int http_listeners_parse(const char *text, struct endpoint *endpoint)
{
    if (!endpoint_parse(text, 0, endpoint) && !endpoint->is_unix)
        return 0;
    config_complain(settings_table, "broker", "listen", "listen=%s is not HOST:PORT", text);
    return -EINVAL;
}

int http_listeners_check(const struct broker_settings *settings)
{
    struct sockaddr_un address;
    struct endpoint endpoint;
    int error = 0;

    if (settings->socket && strlen(settings->socket) >= sizeof(address.sun_path)) {
        config_complain(settings_table, "broker", "socket",
                        "socket=%s is too long for a unix socket", settings->socket);
        error = -ENAMETOOLONG;
    }
    for (char **text = settings->listen; *text; text++)
        if (http_listeners_parse(*text, &endpoint))
            error = -EINVAL;
    return error;
}

static int listen_tcp(struct http_listeners *self, const char *text)
{
    struct endpoint endpoint;
    int error;

    if (http_listeners_parse(text, &endpoint))
        return -EINVAL;
    error = listen_on(self, &endpoint);
    if (error) {
        log_error("listen=%s: %s", text, strerror(-error));
        return error;
    }
    say_address(self->all[self->count - 1]);
    return 0;
}

int http_listeners_open(struct event_base *base, struct connections *connections,
                        const struct broker_settings *settings, struct http_listeners **out)
{
    struct http_listeners *self = calloc(1, sizeof(*self));
    int error = 0;

    if (!self)
        return -ENOMEM;
    self->base = base;
    self->connections = connections;
    self->lines = (struct log_limit)LOG_LIMIT(1, 60);
    self->wake = evtimer_new(base, on_wake, self);
    if (!self->wake)
        error = -ENOMEM;
    if (!error && settings->socket && *settings->socket)
        error = http_listeners_listen_unix(self, settings->socket);
    for (char **text = settings->listen; !error && *text; text++)
        error = listen_tcp(self, *text);
    if (error)
        http_listeners_close(&self);
    else
        *out = self;
    return error;
}

void http_listeners_close(struct http_listeners **pointer)
{
    struct http_listeners *self = *pointer;

    if (!self)
        return;
    remove_path(self);
    for (size_t i = 0; i < self->count; i++)
        evconnlistener_free(self->all[i]);
    if (self->wake)
        event_free(self->wake);
    free(self->path);
    free(self);
    *pointer = NULL;
}
