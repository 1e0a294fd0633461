// SPDX-License-Identifier: BSD-3-Clause
// The pipeline of copies through staging blocks. A copy consists of pieces, each at most as large
// as a block. The calling thread and the copy threads transfer the pieces concurrently and in any
// order.
#ifndef RGPU_CLIENT_STAGED_PIECES_H
#define RGPU_CLIENT_STAGED_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/copy/blocks.h"

struct staged_job;

// The operations of one kind of copy. Several threads call them at once, each for other pieces.
// PIECE is a number from 0 on.
struct staged_kind {
    // Returns the bytes of the piece.
    size_t (*bytes)(const struct staged_job *job, size_t piece);
    // Requests the copy of the piece between the GPU and BLOCK.
    CUresult (*ask)(const struct staged_job *job, size_t piece, struct staging_block *block);
    // Copies the piece between the program's memory and MEMORY, the memory of a block.
    void (*move)(const struct staged_job *job, size_t piece, uint8_t *memory);
};

// The state of one copy. Each kind embeds it as the first member of its own state.
struct staged_job {
    const struct staged_kind *kind;
    struct box_session *session;
    CUstream stream;     // in which the GPU copies; resolved by copy_begin
    size_t total;        // bytes of the copy
    size_t pieces;       // number of pieces
    _Atomic size_t next; // the next piece that a thread takes
    _Atomic int result;  // CUDA_SUCCESS, or the first error
};

// Returns the bytes of a piece for a copy of SIZE bytes: few enough that several pieces are in
// transit at once, enough that a request pays off.
size_t staged_piece_size(const struct box_session *session, size_t size);

// Transfers all pieces, and returns the first error. On return the program's memory has been read
// if TO_DEVICE; else all data has arrived there.
CUresult staged_run(struct staged_job *job, bool to_device);

// A piece that the GPU copies into a block.
struct staged_arrival {
    struct staging_block *block;
    size_t piece;
};
// Takes a block, requests the next piece from the GPU into that block, and fills in *ARRIVAL; the
// caller then owns the block. Returns false if there are no more pieces, on an error (job->result),
// or if TRY and no block is free.
bool staged_request(struct staged_job *job, bool try, struct staged_arrival *arrival);

#endif
