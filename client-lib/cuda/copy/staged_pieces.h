// SPDX-License-Identifier: BSD-3-Clause
// The pipeline of copies through staging blocks: a copy is cut into pieces of at most a block,
// which the calling thread and helper threads move concurrently. Pieces of one copy have no order
// among themselves.
#ifndef RGPU_CLIENT_STAGED_PIECES_H
#define RGPU_CLIENT_STAGED_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/copy/blocks.h"

struct staged_job;

// The operations of one kind of copy. Several threads call them at once, each with its own pieces.
struct staged_kind {
    size_t (*bytes)(const struct staged_job *job, size_t piece);
    // Requests the copy between the GPU and the block.
    CUresult (*ask)(const struct staged_job *job, size_t piece, struct staging_block *block);
    // Copies between the program's memory and the block.
    void (*move)(const struct staged_job *job, size_t piece, uint8_t *memory);
};

// The first member of the data that a kind keeps of a copy.
struct staged_job {
    const struct staged_kind *kind;
    struct box_session *session;
    CUstream stream;
    size_t total;        // bytes
    size_t pieces;       // of the copy
    _Atomic size_t next; // piece
    _Atomic int result;
};

// Returns the piece size for a copy of SIZE bytes: small enough for several pieces to be in transit
// at once, large enough to be worth a request.
size_t staged_piece_size(const struct box_session *session, size_t size);

// Moves all pieces. On return the data has left the program's memory, or has arrived in it.
CUresult staged_run(struct staged_job *job, bool to_device);

// Requests the next piece from the GPU, and returns its block and number. False: there are no more
// pieces, or no block is free without waiting (TRY).
struct staged_arrival {
    struct staging_block *block;
    size_t piece;
};
bool staged_request(struct staged_job *job, bool try, struct staged_arrival *arrival);

#endif
