// SPDX-License-Identifier: BSD-3-Clause
// A completion event recorded after the last use of a block; it is made again when another context
// uses the block.
#ifndef RGPU_WORKER_MARK_H
#define RGPU_WORKER_MARK_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

struct mark {
    CUevent event;
    CUcontext context; // context of the event; NULL: no event yet
};

// Makes the event for the context, which is current.
CUresult mark_make(struct mark *mark, CUcontext context);
// Records the event in a stream of the context, which is current.
CUresult mark_set(struct mark *mark, CUcontext context, CUstream stream);
// Queries the event: SUCCESS, NOT_READY, or CONTEXT_IS_DESTROYED if the event ended with its
// context.
CUresult mark_ask(const struct mark *mark);
// Waits for the event. CONTEXT_IS_DESTROYED as above.
CUresult mark_await(const struct mark *mark);
// Drops the event if it belongs to the context, which is current and about to end.
void mark_forget(struct mark *mark, CUcontext context);

#endif
