// SPDX-License-Identifier: BSD-3-Clause
// The memory that the two ends of a shm link share: one sealed memory file.
//
//   offset      size                        what
//   0           4 KiB of SHM_ALIGN          struct shm_header: where the rings stand
//   64 KiB      SHM_RING_SIZE               ring of records to the worker
//   .           SHM_RING_SIZE               ring of records to the client
//   staging:    region 0 of the session, mapped on its own so that it can be registered with CUDA
//   +0          4 KiB of SHM_ALIGN          LINK_FLAGS completion flags
//   +64 KiB     block_size * block_count    staging blocks
//
// Parts begin at multiples of SHM_ALIGN, the largest page size of any supported machine. Each side
// maps a ring twice in a row, so that what runs over its end continues at its beginning and every
// record is contiguous.
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
    SHM_BLOCKS_OFFSET = SHM_ALIGN, // in the staging region
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

// An event file: its reader sleeps in poll(), the other side rings it.
enum shm_event {
    SHM_EVENT_RECORDS, // the receiver of that direction waits for records
    SHM_EVENT_SPACE,   // its sender waits for space
    SHM_EVENTS
};

struct shm_memory {
    int fd;
    uint64_t place; // in the file; 0 but for a part of a window (vm)
    int events[SHM_DIRECTIONS][SHM_EVENTS];
    struct shm_header *header;
    uint8_t *rings[SHM_DIRECTIONS]; // each mapped twice in a row
    struct link_staging staging;
};

// The worker's description of the memory; the file's size must agree with it.
struct shm_geometry {
    uint64_t size;
    uint32_t ring_size;
    uint32_t block_size;
    uint32_t block_count;
};
void shm_memory_geometry(const struct shm_memory *memory, struct shm_geometry *out);

// Maps the memory of a peer from its descriptors, which it takes over in every case. The memory
// must be sealed and exactly as large as GEOMETRY says; -EPROTO otherwise.
int shm_memory_map(int fd, const int events[SHM_DIRECTIONS * SHM_EVENTS],
                   const struct shm_geometry *geometry, struct shm_memory **out);

// Maps a part of a window; its descriptor FD stays the caller's. The caller may add the events,
// which are then closed with the memory. -EPROTO where the part is not as large as GEOMETRY says.
int shm_memory_map_part(int fd, uint64_t place, const struct shm_geometry *geometry,
                        struct shm_memory **out);

// Closes and unmaps, and leaves the structure. For a forked child.
void shm_memory_close(struct shm_memory *memory);

#endif
