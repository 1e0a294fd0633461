// SPDX-License-Identifier: BSD-3-Clause
// The rectangles that the 2D and 3D calls copy: what their sides are.
#ifndef RGPU_CLIENT_RECT_SIDES_H
#define RGPU_CLIENT_RECT_SIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// One side, as the program gives it.
struct corner {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

// The same, once it is clear what it means.
struct side {
    bool device;
    bool seen;        // of a device, and the program can look at it without a call
    uint64_t address; // of the first byte; nothing of an array's
    size_t pitch;     // bytes from row to row
    size_t slice;     // bytes from plane to plane
    CUarray array;    // NULL: it is memory with addresses
    size_t x, y, z;   // in the array: bytes, rows, planes
};

struct rect_copy {
    struct side from, to;
    size_t width, height, depth; // bytes, rows, planes
};

// CUDA_ERROR_INVALID_VALUE: the side makes no sense; CUDA_ERROR_NOT_SUPPORTED: it is an array of another box than the
// current context's.
CUresult rect_side(const struct corner *corner, const struct rect_copy *copy, struct side *side);
// Whether the device has the memory.
CUresult rect_check_side(const struct side *side, const struct rect_copy *copy);
void rect_read_corners(const CUDA_MEMCPY3D *program, struct corner *from, struct corner *to);
// Finds out what both sides are, and checks them.
CUresult rect_check_sides(struct rect_copy *copy, const struct corner *from,
                          const struct corner *to);
// Both sides of a copy as the program gives it, checked.
CUresult rect_read(const CUDA_MEMCPY3D *program, struct rect_copy *copy);
// Bytes from the first of a side to behind its last one.
size_t rect_extent(const struct side *side, const struct rect_copy *copy);
// As the box is asked for it; a host side's address is its shared name.
CUDA_MEMCPY3D rect_request(const struct rect_copy *copy);

#endif
