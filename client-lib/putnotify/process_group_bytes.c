// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/process_group_bytes.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/base/clock.h"

// Waits until an event of WHAT (POLLIN or POLLOUT) occurs.
static int bytes_await(int fd, short what, uint64_t deadline)
{
    struct pollfd poller = {.fd = fd, .events = what};
    int ready = poll(&poller, 1, deadline_left(deadline));
    return ready > 0 ? 0 : ready ? -errno : -ETIMEDOUT;
}

int bytes_send(int fd, const void *data, size_t size, uint64_t deadline)
{
    const char *at = data;
    while (size) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
        } else if (errno != EAGAIN && errno != EINTR) {
            return -errno;
        } else if (errno == EAGAIN && bytes_await(fd, POLLOUT, deadline) == -ETIMEDOUT) {
            return -ETIMEDOUT;
        }
    }
    return 0;
}

int bytes_take(int fd, void *data, size_t size, uint64_t deadline)
{
    char *at = data;
    while (size) {
        ssize_t got = recv(fd, at, size, 0);
        if (!got)
            return -ECONNRESET;
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        } else if (errno != EAGAIN && errno != EINTR) {
            return -errno;
        } else if (errno == EAGAIN && bytes_await(fd, POLLIN, deadline) == -ETIMEDOUT) {
            return -ETIMEDOUT;
        }
    }
    return 0;
}
