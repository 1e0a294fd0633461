// SPDX-License-Identifier: BSD-3-Clause
// One side of a copy between boxes: rows in planes, and the pieces in which they travel
// (peer_shape.c). A piece is part of one row, or whole rows of one plane; both ends cut alike,
// since only the size counts, not the place.
#ifndef RGPU_WORKER_PEER_SHAPE_H
#define RGPU_WORKER_PEER_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct peer_shape {
    CUdeviceptr address;
    uint64_t pitch, slice;         // bytes from row to row, from plane to plane
    uint64_t width, height, depth; // bytes, rows, planes
};

// Computes the bytes in all, and from the first to the end of the last one. Returns false if the
// shape is invalid.
bool peer_shape_measure(const struct peer_shape *shape, uint64_t *total, uint64_t *extent);
// Returns the size of the piece that follows the first OFFSET bytes of the copy.
uint32_t peer_shape_piece(const struct peer_shape *shape, uint64_t offset);
// Returns true if SIZE bytes at OFFSET are a piece.
bool peer_shape_has_piece(const struct peer_shape *shape, uint64_t offset, uint32_t size);
// Returns true if it has no gaps.
bool peer_shape_is_packed(const struct peer_shape *shape);
// Queues the copy between a piece and DATA.
CUresult peer_shape_copy(const struct peer_shape *shape, uint64_t offset, uint32_t size, void *data,
                         bool to_device, CUstream stream);

#endif
