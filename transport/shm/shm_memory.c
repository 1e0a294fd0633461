// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/shm_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"

enum {
    BLOCK_SIZE_MAX = 256 << 20,
    BLOCK_COUNT_MAX = 65536,
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

static uint64_t file_size(uint32_t block_size, uint32_t block_count)
{
    uint64_t size = SHM_STAGING_OFFSET + SHM_BLOCKS_OFFSET + (uint64_t)block_size * block_count;

    return (size + SHM_ALIGN - 1) / SHM_ALIGN * SHM_ALIGN;
}

static bool blocks_valid(uint32_t block_size, uint32_t block_count)
{
    return block_size && block_size <= BLOCK_SIZE_MAX && block_size % 4096 == 0 && block_count &&
           block_count <= BLOCK_COUNT_MAX;
}

static struct shm_memory *memory_alloc(void)
{
    struct shm_memory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return NULL;
    memory->fd = -1;
    for (int d = 0; d < SHM_DIRECTIONS; d++)
        for (int e = 0; e < SHM_EVENTS; e++)
            memory->events[d][e] = -1;
    return memory;
}

static void *shm_memory_map_shared(void *at, size_t size, int fd, off_t offset)
{
    void *mapped = mmap(at, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0), fd, offset);

    return mapped == MAP_FAILED ? NULL : mapped;
}

static uint8_t *shm_memory_map_ring(int fd, off_t offset)
{
    uint8_t *base = mmap(NULL, 2 * SHM_RING_SIZE, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED)
        return NULL;
    if (shm_memory_map_shared(base, SHM_RING_SIZE, fd, offset) &&
        shm_memory_map_shared(base + SHM_RING_SIZE, SHM_RING_SIZE, fd, offset))
        return base;
    munmap(base, 2 * SHM_RING_SIZE);
    return NULL;
}

static int map_all(struct shm_memory *memory, const struct shm_geometry *geometry)
{
    struct link_staging *staging = &memory->staging;
    off_t place = (off_t)memory->place;
    int fd = memory->fd;

    memory->header = shm_memory_map_shared(NULL, SHM_ALIGN, fd, place);
    for (int d = 0; d < SHM_DIRECTIONS; d++)
        memory->rings[d] =
            shm_memory_map_ring(fd, place + SHM_RINGS_OFFSET + (off_t)d * SHM_RING_SIZE);
    staging->size = geometry->size - SHM_STAGING_OFFSET;
    staging->base = shm_memory_map_shared(NULL, staging->size, fd, place + SHM_STAGING_OFFSET);
    if (!memory->header || !memory->rings[SHM_TO_WORKER] || !memory->rings[SHM_TO_CLIENT] ||
        !staging->base)
        return -ENOMEM;
    staging->flags = staging->base;
    staging->flags_offset = 0;
    staging->blocks_offset = SHM_BLOCKS_OFFSET;
    staging->block_size = geometry->block_size;
    staging->block_count = geometry->block_count;
    return 0;
}

static int shm_memory_make_file(struct shm_memory *memory, uint64_t size)
{
    memory->fd = descriptor_own(memfd_create("rgpu", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (memory->fd < 0)
        return -errno;
    // Allocates the pages now: later a lack of memory would be a signal instead of an error.
    int error = posix_fallocate(memory->fd, 0, (off_t)size);
    if (error)
        return -error;
    return fcntl(memory->fd, F_ADD_SEALS, SEALS) ? -errno : 0;
}

static int shm_memory_make_events(struct shm_memory *memory)
{
    for (int d = 0; d < SHM_DIRECTIONS; d++)
        for (int e = 0; e < SHM_EVENTS; e++) {
            memory->events[d][e] = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
            if (memory->events[d][e] < 0)
                return -errno;
        }
    return 0;
}

int shm_memory_new(const struct link_options *options, struct shm_memory **out)
{
    struct shm_geometry geometry = {
        .ring_size = SHM_RING_SIZE,
        .block_size = options && options->block_size ? options->block_size : WIRE_BLOCK_SIZE,
        .block_count = options && options->block_count ? options->block_count : 32,
    };
    struct shm_memory *memory;
    int r;

    if (!blocks_valid(geometry.block_size, geometry.block_count))
        return -EINVAL;
    memory = memory_alloc();
    if (!memory)
        return -ENOMEM;
    geometry.size = file_size(geometry.block_size, geometry.block_count);
    r = shm_memory_make_file(memory, geometry.size);
    if (!r)
        r = shm_memory_make_events(memory);
    if (!r)
        r = map_all(memory, &geometry);
    if (r) {
        log_error("shared memory cannot be made: size=%llu error=%s",
                  (unsigned long long)geometry.size, strerror(-r));
        shm_memory_free(&memory);
        return r;
    }
    *out = memory;
    return 0;
}

void shm_memory_geometry(const struct shm_memory *memory, struct shm_geometry *out)
{
    *out = (struct shm_geometry){
        .size = SHM_STAGING_OFFSET + memory->staging.size,
        .ring_size = SHM_RING_SIZE,
        .block_size = memory->staging.block_size,
        .block_count = memory->staging.block_count,
    };
}

static bool geometry_valid(const struct shm_geometry *geometry)
{
    return geometry->ring_size == SHM_RING_SIZE &&
           blocks_valid(geometry->block_size, geometry->block_count) &&
           geometry->size == file_size(geometry->block_size, geometry->block_count);
}

// If the peer could shrink the file, a later access in this process would raise SIGBUS.
static int shm_memory_check_file(int fd, const struct shm_geometry *geometry)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) || !S_ISREG(status.st_mode))
        return -EPROTO;
    if (!geometry_valid(geometry) || status.st_size < 0 ||
        (uint64_t)status.st_size != geometry->size)
        return -EPROTO;
    return 0;
}

int shm_memory_map(int fd, const int events[SHM_DIRECTIONS * SHM_EVENTS],
                   const struct shm_geometry *geometry, struct shm_memory **out)
{
    struct shm_memory *memory = memory_alloc();
    int r;

    if (!memory) {
        close(fd);
        for (int i = 0; i < SHM_DIRECTIONS * SHM_EVENTS; i++)
            close(events[i]);
        return -ENOMEM;
    }
    memory->fd = fd;
    memcpy(memory->events, events, sizeof(memory->events));
    r = shm_memory_check_file(fd, geometry);
    if (!r)
        r = map_all(memory, geometry);
    if (r) {
        shm_memory_free(&memory);
        return r;
    }
    *out = memory;
    return 0;
}

int shm_memory_map_part(int fd, uint64_t place, const struct shm_geometry *geometry,
                        struct shm_memory **out)
{
    struct shm_memory *memory = geometry_valid(geometry) ? memory_alloc() : NULL;

    if (!memory)
        return geometry_valid(geometry) ? -ENOMEM : -EPROTO;
    memory->place = place;
    memory->fd = descriptor_own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    int r = memory->fd < 0 ? -errno : map_all(memory, geometry);
    if (r) {
        shm_memory_free(&memory);
        return r;
    }
    *out = memory;
    return 0;
}

const struct link_staging *shm_memory_staging(const struct shm_memory *memory)
{
    return &memory->staging;
}

static void shm_memory_unmap(void *at, size_t size)
{
    if (at)
        munmap(at, size);
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void shm_memory_close(struct shm_memory *memory)
{
    shm_memory_unmap(memory->header, SHM_ALIGN);
    shm_memory_unmap(memory->staging.base, memory->staging.size);
    for (int d = 0; d < SHM_DIRECTIONS; d++) {
        shm_memory_unmap(memory->rings[d], 2 * SHM_RING_SIZE);
        memory->rings[d] = NULL;
        for (int e = 0; e < SHM_EVENTS; e++)
            close_one(&memory->events[d][e]);
    }
    memory->header = NULL;
    memory->staging.base = NULL;
    memory->staging.flags = NULL;
    close_one(&memory->fd);
}

void shm_memory_free(struct shm_memory **memory)
{
    if (!*memory)
        return;
    shm_memory_close(*memory);
    free(*memory);
    *memory = NULL;
}
