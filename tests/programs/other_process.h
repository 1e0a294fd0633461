// SPDX-License-Identifier: BSD-3-Clause
// Messages between two processes of a test over a socket; either process ends when the other has
// gone.
#ifndef RGPU_TESTS_PROGRAMS_OTHER_PROCESS_H
#define RGPU_TESTS_PROGRAMS_OTHER_PROCESS_H

#include <sys/socket.h>
#include <unistd.h>

#include "tests/programs/driver.h"

static void send_all(int to, const void *data, size_t size)
{
    if (write(to, data, size) != (ssize_t)size)
        bail("the other process is gone");
}

static void take_all(int from, void *data, size_t size)
{
    if (recv(from, data, size, MSG_WAITALL) != (ssize_t)size)
        bail("the other process is gone");
}

__attribute__((unused)) static void send_fd(int to, int fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (sendmsg(to, &message, 0) != 1)
        bail("a descriptor is not sent");
}

__attribute__((unused)) static int take_fd(int from)
{
    int fd = -1;
    char byte, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    if (recvmsg(from, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
        bail("no descriptor comes");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

#endif
