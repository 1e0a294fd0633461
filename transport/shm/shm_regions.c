// SPDX-License-Identifier: BSD-3-Clause
// Each message is one packet: a header and one descriptor.
#include "transport/shm/shm_regions.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/fdpass.h"
#include "proto/wire.h"

#define REGION_MAGIC 0x4e474552u

struct region_message {
    uint32_t magic;
    uint32_t number;
};

int shm_region_send(int socket, uint32_t number, int fd)
{
    struct region_message message = {.magic = REGION_MAGIC, .number = number};

    return fdpass_send(socket, &message, sizeof(message), &fd, 1);
}

static bool expected(const struct shm_regions *regions, const struct region_message *message)
{
    if (message->magic != REGION_MAGIC || message->number == WIRE_REGION_STAGING ||
        message->number >= WIRE_REGION_LIMIT || regions->count == SHM_REGIONS_WAITING)
        return false;
    for (size_t i = 0; i < regions->count; i++)
        if (regions->waiting[i].number == message->number)
            return false;
    return true;
}

int shm_region_read(struct shm_regions *regions, int socket)
{
    struct region_message message;
    int fd;
    size_t count = 1;
    ssize_t n = fdpass_receive(socket, &message, sizeof(message), &fd, &count);

    if (n == -EAGAIN)
        return -EAGAIN;
    if (n == 0 && count == 0)
        return -EPIPE;
    if (n < 0)
        return n == -ECONNRESET ? -EPIPE : -EPROTO;
    if (n != sizeof(message) || count != 1 || !expected(regions, &message)) {
        if (count)
            close(fd);
        return -EPROTO;
    }
    regions->waiting[regions->count].number = message.number;
    regions->waiting[regions->count++].fd = fd;
    return 0;
}

int shm_region_take(struct shm_regions *regions, uint32_t number, int *fd)
{
    for (size_t i = 0; i < regions->count; i++) {
        if (regions->waiting[i].number != number)
            continue;
        *fd = regions->waiting[i].fd;
        regions->waiting[i] = regions->waiting[--regions->count];
        return 0;
    }
    return -ENOENT;
}

void shm_regions_close(struct shm_regions *regions)
{
    while (regions->count)
        close(regions->waiting[--regions->count].fd);
}

bool shm_region_is_file(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

bool shm_region_is_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_SHRINK) && shm_region_is_file(fd);
}
