// SPDX-License-Identifier: BSD-3-Clause
// Moves the chunks of one mirror between the client's memory and the GPU. The client's memory is
// mapped twice: at `library_view`, and at `place.base` (the program view, mirror.h). The caller of
// each function holds the lock of the mirrors.
#ifndef RGPU_CLIENT_MIRROR_CHUNKS_H
#define RGPU_CLIENT_MIRROR_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/ranges.h"
#include "client-lib/cuda/session/box_session.h"

enum { MIRROR_PAGE = 4096, MIRROR_CHUNK = 64 * 1024 }; // bytes

// The memory that a mirror mirrors.
struct mirror_place {
    uint64_t base; // page-aligned; the pages hold nothing else
    uint64_t size; // bytes, whole pages
    struct box_session *session;
    uint64_t context; // handle of the context that owns the memory
    bool fresh;    // the memory is new: the program reads zeros, the GPU's copy is not zeroed yet
    bool in_parts; // only the address ranges of `mirror.parts` are in use, which are added later
    // 0 for memory of a GPU. For page-locked memory the number of its region: then the device copy
    // is memory of the box's host, and concurrent writes of both sides merge byte by byte.
    uint32_t region;
};

enum chunk_state {
    CHUNK_FRESH,  // the program reads zeros; the GPU's copy is undefined
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
    struct ranges parts;   // the parts in use if place.in_parts
    uint8_t *library_view; // address of the library view
    uint8_t *known;  // of page-locked memory: the last contents that both sides had; else NULL
    uint64_t stream; // handle of the only stream whose work accesses the mirror; 0: any
    bool away;       // all chunks are AWAY
    struct run_ahead reads, writes;  // current sequences of faults
    size_t ahead, ahead_end;         // range of chunks to prefetch
    size_t piece;                    // maximum of chunks per fetch, adapted to the speed
    size_t expect_first, expect_end; // range of chunks of mirror_expect
    size_t count;                    // number of chunks
    uint8_t chunks[];                // enum chunk_state
};

// Return the address of CHUNK in the program view; the bytes of COUNT chunks from FIRST on.
uint64_t mirror_address(const struct mirror *mirror, size_t chunk);
size_t mirror_bytes(const struct mirror *mirror, size_t first, size_t count);
// Returns true if the program view of the chunk must be opened before a read, or if WRITE before a
// write, can succeed.
bool mirror_needs(const struct mirror *mirror, size_t chunk, bool write);

// Starts to send the WRITTEN chunks and to zero the GPU's copy of FRESH chunks. mirror_moves_end
// waits for all transfers that this thread has started.
CUresult mirror_send_all(struct mirror *mirror);
CUresult mirror_moves_end(void);
// Fetches the AWAY chunks among COUNT chunks from FIRST on, allocates pages for FRESH chunks, and
// waits until all bytes have arrived. Calls opener->open for each address range (SIZE in bytes)
// after its bytes have arrived, from several threads at a time and in any order; WAS is the
// previous state of its chunks. OPENER may be NULL.
struct mirror_opener {
    void (*open)(void *argument, uint64_t address, size_t size, enum chunk_state was);
    void *argument;
};
CUresult mirror_bring(struct mirror *mirror, size_t first, size_t count,
                      const struct mirror_opener *opener);
// Returns true if the calling thread is moving chunks.
bool mirror_moves_mine(void);

#endif
