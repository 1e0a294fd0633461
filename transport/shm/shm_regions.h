// SPDX-License-Identifier: BSD-3-Clause
// Sends descriptors of memory files to the peer of a shm link, with their region numbers.
#ifndef RGPU_TRANSPORT_SHM_REGIONS_H
#define RGPU_TRANSPORT_SHM_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHM_REGIONS_WAITING = 64, SHM_REGION_TIMEOUT_MS = 5000 };

// Regions that have arrived and not been taken.
struct shm_regions {
    size_t count;
    struct {
        uint32_t number;
        int fd;
    } waiting[SHM_REGIONS_WAITING];
};

// Sends a region. Returns 0, -EAGAIN if the socket is full, or -errno.
int shm_region_send(int socket, uint32_t number, int fd);

// Reads one message. Returns 0, -EAGAIN if there is none, -EPIPE if the peer has gone, or -EPROTO.
int shm_region_read(struct shm_regions *regions, int socket);
// Takes an arrived region; the caller owns *FD. Returns -ENOENT if it has not arrived.
int shm_region_take(struct shm_regions *regions, uint32_t number, int *fd);
void shm_regions_close(struct shm_regions *regions);

// Returns true if FD is a memory file with a seal against shrinking.
bool shm_region_is_sealed(int fd);
// Returns true if FD is a memory file or another regular file.
bool shm_region_is_file(int fd);

#endif
