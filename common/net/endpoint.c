// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/scope.h"

static int parse_port(const char *text, uint16_t *port)
{
    char *end;
    unsigned long value;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    value = strtoul(text, &end, 10);
    if (*end || value > 65535)
        return -EINVAL;
    *port = (uint16_t)value;
    return 0;
}

static int set_host(struct endpoint *endpoint, const char *host, size_t size)
{
    if (size > ENDPOINT_HOST_MAX)
        return -EINVAL;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)host[i] <= ' ' ||
            (!endpoint->is_unix && (host[i] == '[' || host[i] == ']')))
            return -EINVAL;
    memcpy(endpoint->host, host, size);
    endpoint->host[size] = '\0';
    return 0;
}

static int parse_bracketed(const char *text, struct endpoint *endpoint, const char **rest)
{
    const char *close = strchr(text, ']');

    if (!close || (close[1] && close[1] != ':'))
        return -EINVAL;
    *rest = close + 1;
    return set_host(endpoint, text + 1, (size_t)(close - text - 1));
}

static int parse_unix(const char *path, struct endpoint *out)
{
    struct endpoint endpoint = {.is_unix = true};

    if (*path != '/' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return -EINVAL;
    if (set_host(&endpoint, path, strlen(path)))
        return -EINVAL;
    *out = endpoint;
    return 0;
}

int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *out)
{
    struct endpoint endpoint = {.port = default_port};
    const char *rest;
    int err;

    if (!strncmp(text, "unix:", 5))
        return parse_unix(text + 5, out);
    if (*text == '[') {
        err = parse_bracketed(text, &endpoint, &rest);
    } else {
        rest = text + strcspn(text, ":");
        // A bare IPv6 address is ambiguous with host:port, so it must stand in brackets.
        if (*rest && strchr(rest + 1, ':'))
            return -EINVAL;
        err = set_host(&endpoint, text, (size_t)(rest - text));
    }
    if (err)
        return err;
    if (*rest == ':') {
        if (parse_port(rest + 1, &endpoint.port))
            return -EINVAL;
    } else if (!default_port || rest == text) {
        return -EINVAL;
    }
    *out = endpoint;
    return 0;
}

void endpoint_format(const struct endpoint *endpoint, char *text)
{
    if (endpoint->is_unix)
        snprintf(text, ENDPOINT_TEXT_MAX, "unix:%s", endpoint->host);
    else if (strchr(endpoint->host, ':') || !strcmp(endpoint->host, "unix"))
        snprintf(text, ENDPOINT_TEXT_MAX, "[%s]:%u", endpoint->host, endpoint->port);
    else
        snprintf(text, ENDPOINT_TEXT_MAX, "%s:%u", endpoint->host, endpoint->port);
}

// Moves *TEXT to after its next part, without the blanks around it. Returns its size, 0 at the end,
// -EINVAL if it is too long.
static int next_part(const char **text, char part[ENDPOINT_TEXT_MAX])
{
    *text += strspn(*text, " \t,");
    size_t n = strcspn(*text, ","), trimmed = n;

    while (trimmed && ((*text)[trimmed - 1] == ' ' || (*text)[trimmed - 1] == '\t'))
        trimmed--;
    size_t taken = trimmed < ENDPOINT_TEXT_MAX ? trimmed : ENDPOINT_TEXT_MAX - 1;
    memcpy(part, *text, taken);
    part[taken] = '\0';
    *text += n;
    return taken < trimmed ? -EINVAL : (int)trimmed;
}

int endpoint_parse_list(const char *text, uint16_t default_port, struct endpoint *out, size_t max)
{
    char part[ENDPOINT_TEXT_MAX];
    size_t count = 0;
    int size;

    while ((size = next_part(&text, part)) > 0) {
        if (count == max)
            return -E2BIG;
        if (endpoint_parse(part, default_port, &out[count]))
            return -EINVAL;
        count++;
    }
    return size < 0 ? size : (int)count;
}

static const char *what_is_wrong(const char *part, int size)
{
    const char *port = strrchr(part, ':');
    size_t host = port ? (size_t)(port - part) : strlen(part);
    uint16_t number;

    if (size < 0 || host > ENDPOINT_HOST_MAX)
        return "a host has at most 255 bytes";
    for (const char *at = part; *at; at++)
        if ((unsigned char)*at <= ' ')
            return "blanks and control characters are not part of a host";
    if (port && !strchr(port, ']') && parse_port(port + 1, &number))
        return "a port is a number up to 65535";
    return "an IPv6 address stands in brackets";
}

void endpoint_list_problem(const char *text, uint16_t default_port, size_t max, char *problem,
                           size_t room)
{
    char part[ENDPOINT_TEXT_MAX];
    struct endpoint endpoint;
    size_t count = 0;
    int size;

    snprintf(problem, room, "it names nothing; expected host:port[,host:port...]");
    while ((size = next_part(&text, part))) {
        if (count++ == max) {
            snprintf(problem, room, "it names more than %zu", max);
            return;
        }
        if (size > 0 && !endpoint_parse(part, default_port, &endpoint))
            continue;
        const char *wrong = what_is_wrong(part, size);
        for (char *at = part; *at; at++)
            *at = (unsigned char)*at < ' ' ? '?' : *at;
        snprintf(problem, room, "\"%.100s%s\" is not host:port: %s", part,
                 strlen(part) > 100 ? "..." : "", wrong);
        return;
    }
}

static int await_connected(int fd, int64_t deadline)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int result, error;
    socklen_t size = sizeof(error);

    do {
        int64_t left = deadline - clock_ms();
        result = poll(&wait, 1, left > 0 ? (int)left : 0);
    } while (result < 0 && errno == EINTR);
    if (result < 0)
        return -errno;
    if (!result)
        return -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
        return -errno;
    return -error;
}

static void tune_tcp(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static int connect_address(const struct sockaddr *address, socklen_t size, int64_t deadline)
{
    int fd =
        descriptor_own(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int err = 0;

    if (fd < 0)
        return -errno;
    if (address->sa_family != AF_UNIX)
        tune_tcp(fd);
    if (connect(fd, address, size)) {
        err = -errno;
        if (err == -EINPROGRESS)
            err = await_connected(fd, deadline);
    }
    if (err) {
        close(fd);
        return err;
    }
    return fd;
}

static int endpoint_resolve(const struct endpoint *endpoint, int flags, struct addrinfo **out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    struct descriptor_fence fence;
    char port[8];

    snprintf(port, sizeof(port), "%u", endpoint->port);
    descriptor_fence_begin(&fence);
    int err = getaddrinfo(*endpoint->host ? endpoint->host : NULL, port, &hints, out);
    descriptor_fence_end(&fence);
    if (err == EAI_SYSTEM)
        return -errno;
    return err == EAI_MEMORY ? -ENOMEM : err ? -EHOSTUNREACH : 0;
}

static struct sockaddr_un unix_address(const struct endpoint *endpoint)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "%.*s", (int)sizeof(address.sun_path) - 1,
             endpoint->host);
    return address;
}

int endpoint_connect(const struct endpoint *endpoint, int timeout_ms)
{
    int64_t deadline = clock_ms() + timeout_ms;
    struct addrinfo *list;

    if (endpoint->is_unix) {
        struct sockaddr_un address = unix_address(endpoint);
        return connect_address((struct sockaddr *)&address, sizeof(address), deadline);
    }
    int result = endpoint_resolve(endpoint, 0, &list);
    if (result)
        return result;
    result = -EHOSTUNREACH;
    for (struct addrinfo *a = list; a && result < 0; a = a->ai_next)
        result = connect_address(a->ai_addr, a->ai_addrlen, deadline);
    freeaddrinfo(list);
    return result;
}

// A listener expects no descriptors, and closing one may block. Kernels before 6.16 cannot refuse
// them.
static void refuse_descriptors(int fd)
{
#ifndef SO_PASSRIGHTS
    enum { SO_PASSRIGHTS = 83 };
#endif
    const int off = 0;

    setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}

static int endpoint_listen_unix(const struct endpoint *endpoint, int backlog)
{
    struct sockaddr_un address = unix_address(endpoint);
    struct stat info;
    int fd, live;

    if (!lstat(endpoint->host, &info)) {
        if (!S_ISSOCK(info.st_mode))
            return -EEXIST;
        live = endpoint_connect(endpoint, 1000);
        if (live >= 0) {
            close(live);
            return -EADDRINUSE;
        }
        unlink(endpoint->host);
    }
    fd = descriptor_own(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -errno;
    refuse_descriptors(fd);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, backlog)) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

static int listen_address(const struct addrinfo *address, int backlog)
{
    int fd =
        descriptor_own(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int on = 1;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, backlog)) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);

    getsockname(fd, (struct sockaddr *)&address, &size);
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

int endpoint_listen(const struct endpoint *endpoint, int backlog, uint16_t *port)
{
    struct addrinfo *list;

    if (endpoint->is_unix) {
        *port = 0;
        return endpoint_listen_unix(endpoint, backlog);
    }
    int fd = endpoint_resolve(endpoint, AI_PASSIVE, &list);
    if (fd)
        return fd;
    fd = -EHOSTUNREACH;
    for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
        fd = listen_address(a, backlog);
    freeaddrinfo(list);
    if (fd >= 0)
        *port = bound_port(fd);
    return fd;
}

void endpoint_peer_text(int fd, char *text, size_t size)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    struct ucred peer;
    char host[64], port[8];

    if (getpeername(fd, (struct sockaddr *)&address, &length)) {
        snprintf(text, size, "unknown");
    } else if (address.ss_family == AF_UNIX) {
        length = sizeof(peer);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
            snprintf(text, size, "unix");
        else
            snprintf(text, size, "unix:pid=%d,uid=%u", (int)peer.pid, (unsigned)peer.uid);
    } else if (getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port,
                           sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV)) {
        snprintf(text, size, "unknown");
    } else {
        snprintf(text, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    }
}

void endpoint_origin(int fd, uint8_t origin[ENDPOINT_ORIGIN_BYTES])
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *ip4 = (void *)&address;
    struct sockaddr_in6 *ip6 = (void *)&address;
    socklen_t length = sizeof(address);
    struct ucred peer;

    memset(origin, 0, ENDPOINT_ORIGIN_BYTES);
    if (getpeername(fd, (struct sockaddr *)&address, &length))
        return;
    origin[0] = (uint8_t)address.ss_family;
    length = sizeof(peer);
    if (address.ss_family == AF_INET) {
        memcpy(origin + 1, &ip4->sin_addr, 4);
    } else if (address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&ip6->sin6_addr)) {
        origin[0] = AF_INET;
        memcpy(origin + 1, ip6->sin6_addr.s6_addr + 12, 4);
    } else if (address.ss_family == AF_INET6) {
        memcpy(origin + 1, &ip6->sin6_addr, 8);
    } else if (address.ss_family == AF_UNIX &&
               !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length)) {
        memcpy(origin + 1, &peer.uid, sizeof(peer.uid));
    }
}

// Only addresses of this host can be bound.
static bool is_own_address(const struct addrinfo *address)
{
    SCOPED_FD int fd = descriptor_own(socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));

    return fd >= 0 && !bind(fd, address->ai_addr, address->ai_addrlen);
}

static bool is_here(const struct endpoint *endpoint)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL, *at;

    if (endpoint->is_unix || !*endpoint->host)
        return true;
    if (getaddrinfo(endpoint->host, NULL, &hints, &found))
        return false;
    for (at = found; at && !is_own_address(at); at = at->ai_next)
        ;
    freeaddrinfo(found);
    return at != NULL;
}

static bool any_is_here(const char *text)
{
    struct endpoint list[16];
    int count = endpoint_parse_list(text, ENDPOINT_DEFAULT_PORT, list, 16);

    for (int i = 0; i < count; i++)
        if (is_here(&list[i]))
            return true;
    return false;
}

bool endpoint_boxes_share_memory(size_t boxes, const char *addresses, const char *transport)
{
    bool allowed = !transport || !*transport || !strcmp(transport, "auto") ||
                   !strcmp(transport, "shm");

    return boxes == 1 && allowed && any_is_here(addresses);
}
