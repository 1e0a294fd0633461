// SPDX-License-Identifier: BSD-3-Clause
// The rectangles that the 2D and 3D calls copy, and their sides.
#ifndef RGPU_CLIENT_RECT_SIDES_H
#define RGPU_CLIENT_RECT_SIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// One side, as the program describes it, with the meaning of the members of CUDA_MEMCPY3D.
struct corner {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

// The same side after rect_side has resolved it.
struct side {
    bool device;      // memory of a GPU, else of this process
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

// Resolves CORNER, a side of COPY, into *SIDE. Returns CUDA_ERROR_INVALID_VALUE if CORNER is not
// valid, CUDA_ERROR_NOT_SUPPORTED if it is an array of another box than the current context's.
CUresult rect_side(const struct corner *corner, const struct rect_copy *copy, struct side *side);
// Returns an error if SIDE is linear device memory but not all bytes of COPY lie in known device
// memory. Does not check host memory and arrays.
CUresult rect_check_side(const struct side *side, const struct rect_copy *copy);
// Reads both sides from the program's description.
void rect_read_corners(const CUDA_MEMCPY3D *program, struct corner *from, struct corner *to);
// Resolves both sides into COPY, whose width, height and depth are set, and checks them.
CUresult rect_check_sides(struct rect_copy *copy, const struct corner *from,
                          const struct corner *to);
// Reads *COPY from the program's description, and resolves and checks both sides.
CUresult rect_read(const CUDA_MEMCPY3D *program, struct rect_copy *copy);
// Returns the bytes from the start of SIDE to the end of its last row.
size_t rect_extent(const struct side *side, const struct rect_copy *copy);
// Returns COPY in the form of a request to the box. The address of a host side must be the value of
// copy_shared_name.
CUDA_MEMCPY3D rect_request(const struct rect_copy *copy);

#endif
