// SPDX-License-Identifier: BSD-3-Clause
// Moves the chunks of one mirror between the client's memory and the GPU. The library maps that
// memory at `library_view`, the program at `place.base` (the program view, mirror.h). The caller
// holds the lock of the mirrors.
#ifndef RGPU_CLIENT_MIRROR_CHUNKS_H
#define RGPU_CLIENT_MIRROR_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/ranges.h"
#include "client-lib/cuda/session/box_session.h"

enum { MIRROR_PAGE = 4096, MIRROR_CHUNK = 64 * 1024 };

struct mirror_place {
    uint64_t base; // page-aligned; the pages hold nothing else
    uint64_t size; // whole pages
    struct box_session *session;
    uint64_t context; // handle
    bool fresh; // new memory reads as zeros, and the GPU's copy is not zeroed yet; else undefined
    bool in_parts; // only the address ranges of `mirror.parts` are in use, which are added later
    // For page-locked memory the number of its region: the other copy is memory of the box's host.
    // 0 for memory of a GPU. If both sides write page-locked memory at a time, changes merge byte
    // by byte.
    uint32_t region;
};

enum chunk_state {
    CHUNK_FRESH,  // the client reads zeros, and the GPU has anything
    CHUNK_AWAY,   // only the GPU's copy is current
    CHUNK_SHARED, // both copies are current
    CHUNK_WRITTEN // only the client's copy is current
};

// A sequence of consecutive faults of one kind, read or write.
struct run_ahead {
    size_t next;   // chunk that would continue the sequence
    size_t length; // chunks
};

struct mirror {
    struct mirror_place place;
    struct ranges parts; // if in_parts
    uint8_t *library_view;
    uint8_t *known;  // of page-locked memory: the last contents that both sides had; else NULL
    uint64_t stream; // handle of the only stream whose work accesses the mirror; 0: any
    bool away;       // all chunks are AWAY
    struct run_ahead reads, writes;
    size_t ahead, ahead_end;         // range of chunks to fetch before the program accesses them
    size_t piece;                    // limit of chunks per fetch, adapted to the speed
    size_t expect_first, expect_end; // range of chunks that its first fault fetches in one fetch
    size_t count;
    uint8_t chunks[]; // enum chunk_state
};

// Return the address of a chunk in the program view, and the bytes of COUNT chunks.
uint64_t mirror_address(const struct mirror *mirror, size_t chunk);
size_t mirror_bytes(const struct mirror *mirror, size_t first, size_t count);
// Returns true if the program view of the chunk must be made accessible before a read, or if WRITE
// before a write.
bool mirror_needs(const struct mirror *mirror, size_t chunk, bool write);

// Starts to send the WRITTEN chunks and to zero the GPU's copy of FRESH ones. mirror_moves_end
// waits for all moves that this thread has started.
CUresult mirror_send_all(struct mirror *mirror);
CUresult mirror_moves_end(void);
// Fetches the AWAY chunks of COUNT chunks from FIRST on, allocates pages for FRESH ones, and waits.
// OPENER->open is called for each address range (SIZE in bytes) after its bytes have arrived, by
// several threads at a time and in any order; WAS is the previous state of its chunks. OPENER may
// be NULL.
struct mirror_opener {
    void (*open)(void *argument, uint64_t address, size_t size, enum chunk_state was);
    void *argument;
};
CUresult mirror_bring(struct mirror *mirror, size_t first, size_t count,
                      const struct mirror_opener *opener);
// Returns true if this thread is moving chunks.
bool mirror_moves_mine(void);

#endif
