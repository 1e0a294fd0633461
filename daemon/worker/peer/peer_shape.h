// SPDX-License-Identifier: BSD-3-Clause
// One side of a copy between boxes: rows in planes, and the chunks in which they travel. A chunk is
// a part of one row, or whole rows of one plane. Both ends divide alike, because only the sizes
// matter.
#ifndef RGPU_WORKER_PEER_SHAPE_H
#define RGPU_WORKER_PEER_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct peer_shape {
    CUdeviceptr address;
    uint64_t pitch, slice;         // bytes from a row to the next, and from a plane to the next
    uint64_t width, height, depth; // bytes, rows, planes
};

// Computes the total bytes, and the extent from the first byte to the end of the last one. Returns
// false if the shape is invalid.
bool peer_shape_measure(const struct peer_shape *shape, uint64_t *total, uint64_t *extent);
// Returns the size of the chunk at OFFSET, counted in packed bytes.
uint32_t peer_shape_piece(const struct peer_shape *shape, uint64_t offset);
// Returns true if SIZE bytes at OFFSET are a chunk.
bool peer_shape_has_piece(const struct peer_shape *shape, uint64_t offset, uint32_t size);
// Returns true if the rows are adjacent.
bool peer_shape_is_packed(const struct peer_shape *shape);
// Queues the GPU copy between a chunk and DATA.
CUresult peer_shape_copy(const struct peer_shape *shape, uint64_t offset, uint32_t size, void *data,
                         bool to_device, CUstream stream);

#endif
