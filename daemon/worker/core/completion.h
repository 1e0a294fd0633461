// SPDX-License-Identifier: BSD-3-Clause
// A completion event, recorded after the last GPU work that uses a block. It is created anew when
// another context uses the block.
#ifndef RGPU_WORKER_COMPLETION_H
#define RGPU_WORKER_COMPLETION_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

struct completion {
    CUevent event;
    CUcontext context; // context of the event; NULL: there is no event yet
};

// Creates the event in CONTEXT, the current context.
CUresult completion_create(struct completion *completion, CUcontext context);
// Records the event in a stream of CONTEXT, the current context.
CUresult completion_record(struct completion *completion, CUcontext context, CUstream stream);
// Queries the event: SUCCESS, NOT_READY, or CONTEXT_IS_DESTROYED if the event has ended with its
// context.
CUresult completion_query(const struct completion *completion);
// Waits for the event. Returns SUCCESS or CONTEXT_IS_DESTROYED.
CUresult completion_wait(const struct completion *completion);
// Destroys the event if it belongs to CONTEXT, the current context, which is about to end.
void completion_forget(struct completion *completion, CUcontext context);

#endif
