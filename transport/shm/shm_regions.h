// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of memory files on their way to the peer of a shm link, each with its region number.
#ifndef RGPU_TRANSPORT_SHM_REGIONS_H
#define RGPU_TRANSPORT_SHM_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHM_REGIONS_WAITING = 64, SHM_REGION_TIMEOUT_MS = 5000 };

// Regions that came before they were asked for.
struct shm_regions {
    size_t count;
    struct {
        uint32_t number;
        int fd;
    } waiting[SHM_REGIONS_WAITING];
};

// 0, -EAGAIN where the peer has not read earlier ones, or -errno.
int shm_region_send(int socket, uint32_t number, int fd);

// Reads one message. 0; -EAGAIN: none there; -EPIPE: the peer has gone; -EPROTO: not a region's.
int shm_region_read(struct shm_regions *regions, int socket);
// Takes a region that has come; -ENOENT where it has not.
int shm_region_take(struct shm_regions *regions, uint32_t number, int *fd);
void shm_regions_close(struct shm_regions *regions);

// Returns true if FD is a memory file that can no longer shrink.
bool shm_region_is_sealed(int fd);
// A file of any kind.
bool shm_region_is_file(int fd);

#endif
