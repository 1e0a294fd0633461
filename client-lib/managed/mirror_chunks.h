// SPDX-License-Identifier: BSD-3-Clause
// The chunks of one mirror, and moving their bytes between its back and the GPU. All under the lock of the mirrors.
#ifndef RGPU_CLIENT_MIRROR_CHUNKS_H
#define RGPU_CLIENT_MIRROR_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/objects/ranges.h"
#include "client-lib/session/box_session.h"

enum { MIRROR_PAGE = 4096, MIRROR_CHUNK = 64 * 1024 };

struct mirror_place {
    uint64_t base; // of pages, which have nothing else in them
    uint64_t size; // whole pages
    struct box_session *session;
    uint64_t context; // handle
    bool fresh;       // to be zeros, which the GPU's part is not yet; else it may be anything
    bool in_parts;    // only parts of it, which are told later, can be moved; the rest is nobody's
    // Of page-locked memory: its number at the box, whose part is memory of its host. 0: it is memory of a GPU. What
    // both sides write there while the other one does is kept, byte by byte.
    uint32_t region;
};

enum chunk_state { CHUNK_FRESH, CHUNK_AWAY, CHUNK_SHARED, CHUNK_WRITTEN };

// Faults of one kind, read or write, that follow each other.
struct run_ahead {
    size_t next;   // the chunk at which the next one would go on
    size_t length; // chunks
};

struct mirror {
    struct mirror_place place;
    struct ranges parts; // of one that is in parts
    uint8_t *back;
    uint8_t *known;  // of page-locked memory: what the box knows of this process's copy
    uint64_t stream; // the only one whose work touches it; 0: any
    bool away;       // all chunks are
    struct run_ahead reads, writes;
    size_t ahead, ahead_end;         // chunks that are brought before they are touched
    size_t piece;                    // as many are brought at once at most, by how quick they come
    size_t expect_first, expect_end; // chunks that the first fault there brings as a whole
    size_t count;
    uint8_t chunks[]; // enum chunk_state
};

uint64_t mirror_address(const struct mirror *mirror, size_t chunk);
size_t mirror_bytes(const struct mirror *mirror, size_t first, size_t count);
// Whether a chunk has to be opened for such an access.
bool mirror_needs(const struct mirror *mirror, size_t chunk, bool write);

// Sends the chunks that are WRITTEN, and makes zeros of the GPU's part of those that are FRESH; that is so when
// mirror_moves_end has returned.
CUresult mirror_send_all(struct mirror *mirror);
CUresult mirror_moves_end(void);
// Fetches the chunks that are AWAY, and gives pages to those that are FRESH. OPENER, if any, hears of every part of the
// front whose bytes are there, as soon as they are: from several threads, in no order. WAS: the state of its chunks until now.
struct mirror_opener {
    void (*open)(void *argument, uint64_t address, size_t size, enum chunk_state was);
    void *argument;
};
CUresult mirror_bring(struct mirror *mirror, size_t first, size_t count,
                      const struct mirror_opener *opener);
// Whether this thread is moving chunks.
bool mirror_moves_mine(void);

#endif
