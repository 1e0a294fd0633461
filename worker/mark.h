// SPDX-License-Identifier: BSD-3-Clause
// An event behind the last use of a block, which is made anew where the block comes to another context.
#ifndef RGPU_WORKER_MARK_H
#define RGPU_WORKER_MARK_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

struct mark {
    CUevent event;
    CUcontext context; // of the event; NULL: none yet
};

// Makes it for the context, which is current.
CUresult mark_make(struct mark *mark, CUcontext context);
// Records it in a stream of the context, which is current.
CUresult mark_set(struct mark *mark, CUcontext context, CUstream stream);
// SUCCESS, NOT_READY, CONTEXT_IS_DESTROYED: the event went with its context.
CUresult mark_ask(const struct mark *mark);
// The context, which is current, ends.
void mark_forget(struct mark *mark, CUcontext context);

#endif
