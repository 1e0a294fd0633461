// SPDX-License-Identifier: BSD-3-Clause
// Settings of a tcp link's socket, and waiting for it.
#include "transport/tcp_socket.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/wait.h"

enum { CHECK_MS = 2000 };

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

static bool has_unacknowledged(int fd)
{
    int bytes = 0;

    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

// TCP_USER_TIMEOUT would do this, but it also ends connections to a peer that is merely stopped and
// answers with a closed window; so the kernel's state is looked at instead.
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

    for (;;) {
        int timeout = deadline_left(deadline), ready;
        // Keepalive watches over an idle connection; while data is on its way we do, for only then
        // can the peer owe an answer.
        bool owed = (timeout < 0 || timeout > CHECK_MS) && has_unacknowledged(fd);

        ready = poll(wait, 2, owed ? CHECK_MS : timeout);
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (ready > 0)
            return wait[1].revents ? TCP_SOCKET_EVENT : TCP_SOCKET_READY;
        if (ready < 0)
            continue;
        if (!owed)
            return 0;
        if (peer_is_dead(fd))
            return -ETIMEDOUT;
    }
}
