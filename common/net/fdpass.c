// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/descriptor.h"

enum {
    // The most that the kernel lets a message have (SCM_MAX_FD). The kernel closes descriptors that
    // do not fit into a buffer, and the caller would wait for that.
    RECEIVED_MAX = 253,
    QUEUED_MAX = 1024, // more packets than the preset buffer of a unix socket holds
};

union control_buffer {
    char bytes[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
    struct cmsghdr align;
};

union receive_buffer {
    char bytes[CMSG_SPACE(sizeof(int) * RECEIVED_MAX)];
    struct cmsghdr align;
};

static void (*close_distrusted)(int fd);

void fdpass_distrust(void (*close_one)(int fd))
{
    close_distrusted = close_one;
}

void fdpass_discard(int fd)
{
    if (close_distrusted)
        close_distrusted(fd);
    else
        close(fd);
}

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

static size_t fdpass_collect(struct msghdr *message, int *fds)
{
    size_t count = 0;

    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n && count < RECEIVED_MAX; i++)
            memcpy(&fds[count++], CMSG_DATA(h) + i * sizeof(int), sizeof(int));
    }
    return count;
}

ssize_t fdpass_receive(int socket, void *data, size_t size, int *fds, size_t *count)
{
    union receive_buffer control = {0};
    struct iovec part = {.iov_base = data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    int received[RECEIVED_MAX];
    ssize_t n;

    do {
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    size_t found = fdpass_collect(&message, received);
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || found > *count) {
        for (size_t i = 0; i < found; i++)
            fdpass_discard(received[i]);
        return -EMSGSIZE;
    }
    for (size_t i = 0; i < found; i++)
        fds[i] = close_distrusted ? received[i] : descriptor_own(received[i]);
    *count = found;
    return n;
}

void fdpass_close(int socket)
{
    size_t none = 0;
    char byte;

    shutdown(socket, SHUT_RD);
    // An empty packet looks like the end, so the loop does not stop there.
    for (int i = 0; i < QUEUED_MAX; i++) {
        ssize_t n = fdpass_receive(socket, &byte, sizeof(byte), NULL, &none);
        if (n < 0 && n != -EMSGSIZE)
            break;
    }
    close(socket);
}
