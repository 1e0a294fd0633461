// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tcp_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/base/wait.h"

enum {
    CHECK_MS = 2000,
    DETOUR_BYTES = 4096, // on the stack of any thread
    END_TICKS = 20,      // times
    END_TICK_MS = 50,
};

void tcp_socket_prepare(int fd)
{
    const struct {
        int level, name, value;
    } settings[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, TCP_SOCKET_DEAD_SECONDS / 2},
        {IPPROTO_TCP, TCP_KEEPINTVL, 1},
        {IPPROTO_TCP, TCP_KEEPCNT, TCP_SOCKET_DEAD_SECONDS / 2},
    };

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        setsockopt(fd, settings[i].level, settings[i].name, &settings[i].value, sizeof(int));
}

void tcp_socket_limit_window(int fd, size_t bytes)
{
    int window = bytes && bytes < INT_MAX ? (int)bytes : INT_MAX;

    setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof(window));
}

void tcp_socket_let_wait(int fd)
{
    const struct timeval check = {.tv_sec = CHECK_MS / 1000};

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &check, sizeof(check));
}

static bool has_unacknowledged(int fd)
{
    int bytes = 0;

    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

// TCP_USER_TIMEOUT would do this, but it also ends connections to a peer that is merely stopped and
// answers with a closed window; so this reads the kernel's state instead.
static bool peer_is_dead(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        return false;
    return (info.tcpi_retransmits >= 2 || info.tcpi_probes >= 2) &&
           info.tcpi_last_ack_recv >= TCP_SOCKET_DEAD_SECONDS * 1000;
}

int tcp_socket_wait(int fd, short events, int event, uint64_t deadline)
{
    struct pollfd wait[] = {{.fd = fd, .events = events}, {.fd = event, .events = POLLIN}};
    bool idle = false;

    for (;;) {
        int timeout = deadline_left(deadline);
        // Keepalive monitors an idle connection. While sent data is unacknowledged, this function
        // monitors it. Most waits end before it has to query the socket.
        bool looks = !idle && (timeout < 0 || timeout > CHECK_MS);
        int ready = poll(wait, 2, looks ? CHECK_MS : timeout);

        if (ready < 0 && errno != EINTR)
            return -errno;
        if (ready > 0)
            return wait[1].revents ? TCP_SOCKET_EVENT : TCP_SOCKET_READY;
        if (ready < 0)
            continue;
        if (!looks)
            return 0;
        idle = !has_unacknowledged(fd);
        if (!idle && peer_is_dead(fd))
            return -ETIMEDOUT;
    }
}

// ---- bytes ----

int tcp_wire_failed(struct link *link, const struct tcp_wire *wire, int error, const char *doing)
{
    if (error == -EPROTO && wire->tls)
        return link_fail(link, error, "what came is not what the peer sent (%s)",
                         tls_problem(wire->tls));
    if (error == 0 || error == -ECONNRESET || error == -EPIPE)
        return link_fail(link, -EPIPE, "the peer has gone");
    if (error == -ETIMEDOUT)
        return link_fail(link, error, "the peer does not answer");
    return link_fail(link, error, "%s failed: %s", doing, strerror(-error));
}

// Receives through a copy. The access to the program's memory faults in this thread, where the
// program's handler opens the page, or ends the program as its own access would.
static ssize_t receive_by_detour(struct tcp_wire *wire, void *to, size_t room)
{
    uint8_t copy[DETOUR_BYTES];
    ssize_t n = recv(wire->fd, copy, room < sizeof(copy) ? room : sizeof(copy), MSG_DONTWAIT);

    if (n > 0)
        memcpy(to, copy, (size_t)n);
    return n;
}

static ssize_t tcp_socket_receive(struct tcp_wire *wire, void *to, size_t room, int flags)
{
    ssize_t n;

    do {
        n = recv(wire->fd, to, room, flags);
        if (n < 0 && errno == EFAULT)
            n = receive_by_detour(wire, to, room);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t tcp_wire_receive(struct tcp_wire *wire, void *to, size_t room)
{
    return wire->tls ? tls_receive(wire->tls, to, room)
                     : tcp_socket_receive(wire, to, room, MSG_DONTWAIT);
}

ssize_t tcp_wire_receive_soon(struct tcp_wire *wire, void *to, size_t room)
{
    return tcp_socket_receive(wire, to, room, 0);
}

static ssize_t send_by_detour(struct tcp_wire *wire, const struct iovec *part)
{
    uint8_t copy[DETOUR_BYTES];
    size_t size = part->iov_len < sizeof(copy) ? part->iov_len : sizeof(copy);

    memcpy(copy, part->iov_base, size);
    return send(wire->fd, copy, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t tcp_wire_send_some(struct tcp_wire *wire, struct iovec *parts, int count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};

    if (wire->tls)
        return tls_send(wire->tls, parts->iov_base, parts->iov_len);
    ssize_t n = sendmsg(wire->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EFAULT)
        n = send_by_detour(wire, parts);
    return n < 0 ? -errno : n;
}

bool tcp_wire_takes_no_more(const struct tcp_wire *wire)
{
    struct pollfd now = {.fd = wire->fd, .events = POLLOUT | POLLRDHUP};

    return poll(&now, 1, 0) > 0 && (now.revents & POLLRDHUP) && !(now.revents & POLLOUT);
}

void tcp_wire_await_end(const struct link *link, const struct tcp_wire *wire,
                        const _Atomic bool *lost)
{
    int unread = 0;

    for (int tick = 0; tick < END_TICKS && !link_failure(link) && !atomic_load(lost); tick++) {
        if (ioctl(wire->fd, FIONREAD, &unread) || !unread)
            break;
        poll(NULL, 0, END_TICK_MS);
    }
}
