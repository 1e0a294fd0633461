// SPDX-License-Identifier: BSD-3-Clause
// Takes staging blocks (staging_blocks.h), and lets the GPU signal that it is done with a block.
// Thread-safe.
#ifndef RGPU_CLIENT_BLOCKS_H
#define RGPU_CLIENT_BLOCKS_H

#include "client-lib/cuda/session/staging_blocks.h"

// Returns a free block in state FILLING, which belongs to the caller until block_set. If none is
// free, waits for one, or with TRY returns NULL and sets *RESULT to CUDA_SUCCESS. Returns NULL with
// the error in *RESULT if the wait fails.
struct staging_block *block_take(struct box_session *session, bool try, CUresult *result);
// Lets the GPU set the block's flag after all work that was sent to STREAM so far. SIZE: bytes of
// the block that this work uses.
CUresult block_signal(struct box_session *session, struct staging_block *block, size_t size,
                      CUstream stream);

#endif
