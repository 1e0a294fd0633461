// SPDX-License-Identifier: BSD-3-Clause
// Moves the chunks of one mirror between its library view and the GPU. The caller holds the lock of
// the mirrors.
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
    bool fresh; // the program must see zeros, which the GPU does not hold yet; else any contents do
    bool in_parts; // only parts, added later, can be moved; the rest is unused
    // Region number of page-locked memory at the box, whose copy is memory of its host; 0 for
    // memory of a GPU. If both sides write page-locked memory at a time, changes merge byte by
    // byte.
    uint32_t region;
};

enum chunk_state { CHUNK_FRESH, CHUNK_AWAY, CHUNK_SHARED, CHUNK_WRITTEN };

// A sequence of consecutive faults of one kind, read or write.
struct run_ahead {
    size_t next;   // chunk that would continue the sequence
    size_t length; // chunks
};

struct mirror {
    struct mirror_place place;
    struct ranges parts; // if in_parts
    uint8_t *library_view;
    uint8_t *known;  // page-locked memory: the bytes that both sides are known to have
    uint64_t stream; // the only one whose work touches it; 0: any
    bool away;       // all chunks are AWAY
    struct run_ahead reads, writes;
    size_t ahead, ahead_end;         // chunks to fetch before the program touches them
    size_t piece;                    // limit of chunks per fetch, adapted to the speed
    size_t expect_first, expect_end; // chunks that the first fault there fetches at once
    size_t count;
    uint8_t chunks[]; // enum chunk_state
};

uint64_t mirror_address(const struct mirror *mirror, size_t chunk);
size_t mirror_bytes(const struct mirror *mirror, size_t first, size_t count);
// Returns true if such an access to the chunk needs the chunk to be opened first.
bool mirror_needs(const struct mirror *mirror, size_t chunk, bool write);

// Starts to send the WRITTEN chunks and to zero the GPU's copy of FRESH ones. mirror_moves_end
// waits for completion.
CUresult mirror_send_all(struct mirror *mirror);
CUresult mirror_moves_end(void);
// Fetches the AWAY chunks and gives FRESH ones pages. If OPENER is given, its `open` is called for
// each part of the program view as soon as its bytes have arrived: from several threads, in any
// order. WAS is the previous state of the chunks.
struct mirror_opener {
    void (*open)(void *argument, uint64_t address, size_t size, enum chunk_state was);
    void *argument;
};
CUresult mirror_bring(struct mirror *mirror, size_t first, size_t count,
                      const struct mirror_opener *opener);
// Returns true if this thread is moving chunks.
bool mirror_moves_mine(void);

#endif
