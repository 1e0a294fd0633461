// SPDX-License-Identifier: BSD-3-Clause
// Staging blocks in use: taking one, and telling the GPU to say when it is done with one.
#ifndef RGPU_CLIENT_BLOCKS_H
#define RGPU_CLIENT_BLOCKS_H

#include "client-lib/session/staging_blocks.h"

// A block for the caller to use; NULL with *RESULT where its wait failed. With TRY, NULL also
// where it would have to wait.
struct staging_block *block_take(struct box_session *session, bool try, CUresult *result);
// Has the GPU raise the block's flag when the stream has come this far.
CUresult block_signal(struct box_session *session, struct staging_block *block, size_t size,
                      CUstream stream);

#endif
