// SPDX-License-Identifier: BSD-3-Clause
// File descriptors as ancillary data of a unix socket.
#include "common/fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/descriptor.h"

union control_buffer {
    char bytes[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
    struct cmsghdr align;
};

int fdpass_send(int socket, const void *data, size_t size, const int *fds, size_t count)
{
    union control_buffer control = {0};
    struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    if (count > FDPASS_MAX)
        return -EINVAL;
    if (count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
    }
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return -errno;
    return (size_t)sent == size ? 0 : -EMSGSIZE;
}

static size_t collect(struct msghdr *message, int *fds)
{
    size_t count = 0;

    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n && count < FDPASS_MAX; i++)
            memcpy(&fds[count++], CMSG_DATA(h) + i * sizeof(int), sizeof(int));
    }
    return count;
}

ssize_t fdpass_receive(int socket, void *data, size_t size, int *fds, size_t *count)
{
    union control_buffer control = {0};
    struct iovec part = {.iov_base = data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    int received[FDPASS_MAX];
    ssize_t n;

    do {
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    size_t found = collect(&message, received);
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || found > *count) {
        for (size_t i = 0; i < found; i++)
            close(received[i]);
        return -EMSGSIZE;
    }
    for (size_t i = 0; i < found; i++)
        fds[i] = descriptor_own(received[i]);
    *count = found;
    return n;
}
