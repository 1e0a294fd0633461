// SPDX-License-Identifier: BSD-3-Clause
// The one copy that all copies are: a box of bytes from one place to another, in stream order.
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "sim/stream.h"

struct copy_side {
    uint64_t address;  // of the first byte
    size_t pitch;      // bytes from row to row; unused when there is one row
    size_t slice;      // bytes from layer to layer; unused when there is one layer
    CUmemorytype type; // what the program says: host, device, array, or unified (to be found out)
    CUarray array;     // of an array, whose memory the copy holds while it is there
    size_t x, y, z;    // the place in it, as the program says it: bytes, rows, slices
};

struct copy_box {
    struct copy_side destination;
    struct copy_side source;
    size_t width; // bytes
    size_t height;
    size_t depth;
};

enum copy_manner {
    COPY_SYNCHRONOUS,  // of the calls without "Async"
    COPY_ASYNCHRONOUS, // pageable sources are read at the call
    COPY_STREAM_ORDER, // nothing is read or written before the stream comes to it
};

static inline struct copy_box copy_line(uint64_t destination, CUmemorytype destination_type,
                                        uint64_t source, CUmemorytype source_type, size_t size)
{
    return (struct copy_box){
        .destination = {.address = destination, .type = destination_type},
        .source = {.address = source, .type = source_type},
        .width = size,
        .height = 1,
        .depth = 1,
    };
}

// INVALID_VALUE for memory that is not what the program says.
CUresult copy_submit(CUstream stream, const struct copy_box *box, enum copy_manner manner);

// A copy to be run whenever it is due, again and again: nothing of the source is read before.
// INVALID_VALUE.
CUresult copy_prepare(const struct copy_box *box, struct operation **out);

// The same box as CUDA_MEMCPY3D says it, and back. INVALID_VALUE.
void copy_describe(const struct copy_box *box, CUDA_MEMCPY3D *out);
CUresult copy_understand(const CUDA_MEMCPY3D *copy, struct copy_box *out);

// Both contexts (NULL: the current one) exist and are sound.
CUresult copy_check_peers(CUcontext destination, CUcontext source);

// Waits for all work of both: a copy between contexts is serial with it.
CUresult copy_settle_peers(CUcontext destination, CUcontext source);

#endif
