// SPDX-License-Identifier: BSD-3-Clause
// Requests without an answer that synchronize implicitly, such as a free of memory. While such a
// request waits, another thread reads and may execute later requests. The client does not wait for
// it either, so a later request that ends its context must.
#ifndef RGPU_WORKER_UNANSWERED_H
#define RGPU_WORKER_UNANSWERED_H

#include "daemon/worker/request/serve.h"

// A request under way, in the stack of the thread that executes it.
struct unanswered {
    CUcontext context, root; // of a green context the one that has its memory, else the same
    struct unanswered *next;
};

// Must be called in the thread that has read the request, before another thread reads.
void unanswered_begin(struct unanswered *request, CUcontext context, CUcontext root);
void unanswered_ended(struct unanswered *request);
// Waits for the end of all such requests of CONTEXT. Another thread reads meanwhile. Must be called
// before the context ends and before its handles are gone.
void unanswered_await(struct serve *serve, CUcontext context);

#endif
