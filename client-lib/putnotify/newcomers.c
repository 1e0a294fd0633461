// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/newcomers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/descriptor.h"

static void newcomers_take_out(struct newcomers *newcomers, int which)
{
    newcomers->count--;
    memmove(&newcomers->list[which], &newcomers->list[which + 1],
            (size_t)(newcomers->count - which) * sizeof(newcomers->list[0]));
}

static void newcomers_drop(struct newcomers *newcomers, int which)
{
    close(newcomers->list[which].fd);
    newcomers_take_out(newcomers, which);
}

void newcomers_watch(const struct newcomers *newcomers, struct pollfd *pollers)
{
    for (int i = 0; i < newcomers->count; i++)
        pollers[i] = (struct pollfd){.fd = newcomers->list[i].fd, .events = POLLIN};
}

void newcomers_accept(struct newcomers *newcomers, int listener)
{
    int fd = descriptor_own(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));

    if (fd < 0)
        return;
    if (newcomers->count == NEWCOMERS_MAX)
        newcomers_drop(newcomers, 0);
    if (introduction_begin(fd, &newcomers->list[newcomers->count]))
        close(fd);
    else
        newcomers->count++;
}

int newcomers_hear(struct newcomers *newcomers, const struct rendezvous_place *place,
                   struct introduction *hello)
{
    for (int i = 0; i < newcomers->count;) {
        struct newcomer *newcomer = &newcomers->list[i];
        int err = introduction_hear(newcomer, place), fd = newcomer->fd;
        if (err == -EAGAIN) {
            i++;
        } else if (err) {
            newcomers_drop(newcomers, i);
        } else {
            *hello = newcomer->said.hello;
            newcomers_take_out(newcomers, i);
            return fd;
        }
    }
    return -1;
}

void newcomers_close(struct newcomers *newcomers)
{
    while (newcomers->count)
        newcomers_drop(newcomers, newcomers->count - 1);
}
