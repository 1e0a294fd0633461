// SPDX-License-Identifier: BSD-3-Clause
// The pipeline of copies through staging blocks: a copy is cut into pieces of at most a block, which the calling
// thread and helper threads move concurrently. Pieces of one copy have no order among themselves.
#ifndef RGPU_CLIENT_STAGED_PIECES_H
#define RGPU_CLIENT_STAGED_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/move/blocks.h"

struct staged_job;

// What is of one kind of copy. The three are called by several threads at once, each with pieces of its own.
struct staged_kind {
    size_t (*bytes)(const struct staged_job *job, size_t piece);
    // Asks for the copy between the GPU and the block.
    CUresult (*ask)(const struct staged_job *job, size_t piece, struct staging_block *block);
    // Between the program's memory and the block.
    void (*move)(const struct staged_job *job, size_t piece, uint8_t *memory);
};

// The first member of what a kind keeps of a copy.
struct staged_job {
    const struct staged_kind *kind;
    struct box_session *session;
    CUstream stream;
    size_t total;        // bytes
    size_t pieces;       // of the copy
    _Atomic size_t next; // piece
    _Atomic int result;
};

// How large the pieces of a copy of SIZE bytes are to be: small enough for several to be on their way at once, large
// enough to be worth a request.
size_t staged_piece_size(const struct box_session *session, size_t size);

// Moves all pieces. To the GPU: the data has left the program's memory; from it: it has come.
CUresult staged_run(struct staged_job *job, bool to_device);

// Asks for the next piece from the GPU, whose block and number it gives. False: there is none, or no block without
// waiting (TRY).
struct staged_arrival {
    struct staging_block *block;
    size_t piece;
};
bool staged_request(struct staged_job *job, bool try, struct staged_arrival *arrival);

#endif
