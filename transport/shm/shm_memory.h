// SPDX-License-Identifier: BSD-3-Clause
// Memory that the two ends of a shm link share: one sealed memory file.
//
//   offset      size                        content
//   0           4 KiB of SHM_ALIGN          struct shm_header: positions of the rings
//   64 KiB      SHM_RING_SIZE               ring of records to the worker
//   .           SHM_RING_SIZE               ring of records to the client
//   staging:    region 0 of the session, a mapping of its own that is registered with CUDA
//   +0          4 KiB of SHM_ALIGN          LINK_FLAGS completion flags
//   +64 KiB     block_size * block_count    staging blocks
//
// SHM_ALIGN is a multiple of the page size of every supported machine. A ring is mapped twice in a
// row, so that every record is contiguous.
#ifndef RGPU_TRANSPORT_SHM_MEMORY_H
#define RGPU_TRANSPORT_SHM_MEMORY_H

#include "proto/wire.h"
#include "transport/link/link.h"
#include "transport/shm/shm_ring.h"

enum {
    SHM_ALIGN = 64 * 1024,
    SHM_RING_SIZE = 1 << 20,
    SHM_RINGS_OFFSET = SHM_ALIGN,
    SHM_STAGING_OFFSET = SHM_RINGS_OFFSET + 2 * SHM_RING_SIZE,
    SHM_BLOCKS_OFFSET = SHM_ALIGN, // offset in the staging region
};

enum shm_direction { SHM_TO_WORKER, SHM_TO_CLIENT, SHM_DIRECTIONS };

struct shm_header {
    struct ring_control rings[SHM_DIRECTIONS];
};

_Static_assert(sizeof(struct shm_header) <= 4096, "the header is one page");
_Static_assert(LINK_FLAGS * sizeof(uint32_t) <= 4096, "the flags are one page");
_Static_assert(SHM_RING_SIZE % SHM_ALIGN == 0, "rings are whole pages");
_Static_assert((SHM_RING_SIZE & (SHM_RING_SIZE - 1)) == 0, "positions wrap by a mask");
_Static_assert(SHM_RING_SIZE >= 4 * WIRE_RECORD_MAX, "several records of any size fit");

// eventfds. The reader sleeps in poll(); the other side writes to it.
enum shm_event {
    SHM_EVENT_RECORDS, // wakes the receiver: there are records
    SHM_EVENT_SPACE,   // wakes the sender: there is space
    SHM_EVENTS
};

struct shm_memory {
    int fd;
    uint64_t place; // byte offset in the file; not 0 only in a window (vm)
    int events[SHM_DIRECTIONS][SHM_EVENTS];
    struct shm_header *header;
    uint8_t *rings[SHM_DIRECTIONS]; // each mapped twice in a row
    struct link_staging staging;
};

// Sizes, as the worker reports them. They must match the file's size.
struct shm_geometry {
    uint64_t size;
    uint32_t ring_size;
    uint32_t block_size;
    uint32_t block_count;
};
void shm_memory_geometry(const struct shm_memory *memory, struct shm_geometry *out);

// Maps the memory from the peer's descriptors, which it always takes over. Returns -EPROTO unless
// the memory is sealed and has the size that GEOMETRY gives.
int shm_memory_map(int fd, const int events[SHM_DIRECTIONS * SHM_EVENTS],
                   const struct shm_geometry *geometry, struct shm_memory **out);

// Maps a part of the window FD, which stays with the caller, at byte offset PLACE. The caller may
// add eventfds, which shm_memory_free closes. Returns -EPROTO if the size does not match GEOMETRY.
int shm_memory_map_part(int fd, uint64_t place, const struct shm_geometry *geometry,
                        struct shm_memory **out);

// Closes and unmaps without freeing the structure. For a forked child.
void shm_memory_close(struct shm_memory *memory);

#endif
