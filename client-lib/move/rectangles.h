// SPDX-License-Identifier: BSD-3-Clause
// The rectangles that the 2D and 3D calls copy.
#ifndef RGPU_CLIENT_RECTANGLES_H
#define RGPU_CLIENT_RECTANGLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// One side, as the program gives it.
struct corner {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, height;
};

// The same, once it is clear what it means.
struct side {
    bool device;
    uint64_t address; // of the first byte
    size_t pitch;     // bytes from row to row
    size_t slice;     // bytes from plane to plane
};

struct rect_copy {
    struct side from, to;
    size_t width, height, depth; // bytes, rows, planes
};

// CUDA_ERROR_INVALID_VALUE: the side makes no sense; CUDA_ERROR_NOT_SUPPORTED: it is an array.
CUresult rect_side(const struct corner *corner, const struct rect_copy *copy, struct side *side);
// Whether the device has the memory.
CUresult rect_check_side(const struct side *side, const struct rect_copy *copy);
// As the box is asked for it; a host side's address is its shared name.
CUDA_MEMCPY3D rect_request(const struct rect_copy *copy);

#endif
