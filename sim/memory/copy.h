// SPDX-License-Identifier: BSD-3-Clause
// Implements all copies as one operation: a box of bytes copied in stream order.
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "sim/engine/stream.h"

struct copy_side {
    uint64_t address;  // of the first byte
    size_t pitch;      // bytes from row to row; unused when there is one row
    size_t slice;      // bytes from layer to layer; unused when there is one layer
    CUmemorytype type; // the program's statement: host, device, array or unified (to be detected)
    CUarray array;     // the array, whose memory the copy holds while it exists
    size_t x, y, z;    // position in the array as the program gives it: bytes, rows, slices
};

struct copy_box {
    struct copy_side destination;
    struct copy_side source;
    size_t width; // bytes
    size_t height;
    size_t depth;
};

enum copy_manner {
    COPY_SYNCHRONOUS,  // calls without "Async"
    COPY_ASYNCHRONOUS, // pageable sources are read at the call
    COPY_STREAM_ORDER, // nothing is read or written before the stream reaches the copy
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

// Submits a copy. Returns INVALID_VALUE if the memory is of another type than the program says.
CUresult copy_submit(CUstream stream, const struct copy_box *box, enum copy_manner manner);

// Prepares a copy that can run many times and reads nothing of the source before it runs. Returns
// INVALID_VALUE.
CUresult copy_prepare(const struct copy_box *box, struct operation **out);

// Convert a box to CUDA_MEMCPY3D and back. Return INVALID_VALUE.
void copy_describe(const struct copy_box *box, CUDA_MEMCPY3D *out);
CUresult copy_understand(const CUDA_MEMCPY3D *copy, struct copy_box *out);

// Checks that both contexts exist and have no fault. NULL means the current context.
CUresult copy_check_peers(CUcontext destination, CUcontext source);

// Waits for all work of both contexts, since a copy between contexts is ordered with it.
CUresult copy_settle_peers(CUcontext destination, CUcontext source);

#endif
