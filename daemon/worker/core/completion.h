// SPDX-License-Identifier: BSD-3-Clause
// A completion event recorded after the last use of a block; it is made again when another context
// uses the block.
#ifndef RGPU_WORKER_COMPLETION_H
#define RGPU_WORKER_COMPLETION_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

struct completion {
    CUevent event;
    CUcontext context; // context of the event; NULL: no event yet
};

// Makes the event for the context, which is current.
CUresult completion_create(struct completion *completion, CUcontext context);
// Records the event in a stream of the context, which is current.
CUresult completion_record(struct completion *completion, CUcontext context, CUstream stream);
// Queries the event: SUCCESS, NOT_READY, or CONTEXT_IS_DESTROYED if the event ended with its
// context.
CUresult completion_query(const struct completion *completion);
// Waits for the event. CONTEXT_IS_DESTROYED as above.
CUresult completion_wait(const struct completion *completion);
// Drops the event if it belongs to the context, which is current and about to end.
void completion_forget(struct completion *completion, CUcontext context);

#endif
