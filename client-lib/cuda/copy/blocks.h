// SPDX-License-Identifier: BSD-3-Clause
// Staging blocks in use: taking one, and letting the GPU signal that it is done with one.
#ifndef RGPU_CLIENT_BLOCKS_H
#define RGPU_CLIENT_BLOCKS_H

#include "client-lib/cuda/session/staging_blocks.h"

// Returns a block for the caller to use; NULL with *RESULT if the wait for one failed. With TRY,
// returns NULL also instead of waiting.
struct staging_block *block_take(struct box_session *session, bool try, CUresult *result);
// The GPU sets the block's flag when the stream reaches this point.
CUresult block_signal(struct box_session *session, struct staging_block *block, size_t size,
                      CUstream stream);

#endif
