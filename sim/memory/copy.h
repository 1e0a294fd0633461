// SPDX-License-Identifier: BSD-3-Clause
// Copies. Every copy is a box of bytes that one operation copies in stream order.
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "sim/engine/stream.h"

struct copy_side {
    uint64_t address; // address of the first byte
    size_t pitch;     // bytes from a row to the next; ignored for one row
    size_t slice;     // bytes from a layer to the next; ignored for one layer
    // as the program passed it: host, device, array or unified (detected by address)
    CUmemorytype type;
    CUarray array;  // array, whose memory the copy has a reference to
    size_t x, y, z; // position in the array, as the program passed it: bytes, rows, slices
};

struct copy_box {
    struct copy_side destination;
    struct copy_side source;
    size_t width; // in bytes
    size_t height;
    size_t depth;
};

enum copy_manner {
    COPY_SYNCHRONOUS,  // API calls without "Async"
    COPY_ASYNCHRONOUS, // pageable sources are read during the call
    COPY_STREAM_ORDER, // memory is accessed only when the stream executes the copy
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

// Queues a copy. Returns INVALID_VALUE if the memory is not of the type that the program passed.
CUresult copy_submit(CUstream stream, const struct copy_box *box, enum copy_manner manner);

// Prepares a copy that can run many times. Memory is accessed only when it runs. Returns
// INVALID_VALUE.
CUresult copy_prepare(const struct copy_box *box, struct operation **out);

// Convert a box to CUDA_MEMCPY3D and back.
void copy_describe(const struct copy_box *box, CUDA_MEMCPY3D *out);
CUresult copy_understand(const CUDA_MEMCPY3D *copy, struct copy_box *out);

// Returns an error if one of the contexts is destroyed or has a fault. NULL stands for the current
// context.
CUresult copy_check_peers(CUcontext destination, CUcontext source);

// Waits for all work of both contexts: a copy between contexts runs after all of it.
CUresult copy_settle_peers(CUcontext destination, CUcontext source);

#endif
