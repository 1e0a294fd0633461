// SPDX-License-Identifier: BSD-3-Clause
// The rectangles that the 2D and 3D calls copy, and their sides.
#ifndef RGPU_CLIENT_RECT_SIDES_H
#define RGPU_CLIENT_RECT_SIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// One side, as the program describes it.
struct corner {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

// The same after resolving it.
struct side {
    bool device;
    bool seen;        // GPU memory that the program can access without a call
    uint64_t address; // of the first byte; unused for an array
    size_t pitch;     // bytes from row to row
    size_t slice;     // bytes from plane to plane
    CUarray array;    // NULL: linear memory
    size_t x, y, z;   // in the array: bytes, rows, planes
};

struct rect_copy {
    struct side from, to;
    size_t width, height, depth; // bytes, rows, planes
};

// Resolves one side. Returns CUDA_ERROR_INVALID_VALUE if it makes no sense,
// CUDA_ERROR_NOT_SUPPORTED if it is an array of another box than the current context's.
CUresult rect_side(const struct corner *corner, const struct rect_copy *copy, struct side *side);
// Returns an error unless the whole side is device memory. Host memory and arrays are not checked.
CUresult rect_check_side(const struct side *side, const struct rect_copy *copy);
void rect_read_corners(const CUDA_MEMCPY3D *program, struct corner *from, struct corner *to);
// Resolves both sides and checks them.
CUresult rect_check_sides(struct rect_copy *copy, const struct corner *from,
                          const struct corner *to);
// Reads a copy from the program's description, resolves both sides and checks them.
CUresult rect_read(const CUDA_MEMCPY3D *program, struct rect_copy *copy);
// Returns the bytes from the first one of a side to the end of its last one.
size_t rect_extent(const struct side *side, const struct rect_copy *copy);
// Returns the copy as it is requested of the box; a host side's address is its shared name.
CUDA_MEMCPY3D rect_request(const struct rect_copy *copy);

#endif
