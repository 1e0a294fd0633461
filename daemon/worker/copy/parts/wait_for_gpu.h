// SPDX-License-Identifier: BSD-3-Clause
// Waits of requests: for the GPU, and for the right to drain it (wait_for_gpu.c). A wait that is
// over within microseconds is cheaper in the thread that reads than handing the link to another
// one.
#ifndef RGPU_WORKER_WAIT_FOR_GPU_H
#define RGPU_WORKER_WAIT_FOR_GPU_H

#include "daemon/worker/request/serve.h"

// Lets another thread read the link from here on; for a request that goes on to wait.
void serve_let_others_read(struct serve *serve);
// Waits for all work of STREAM: for a moment while reading stops, then with others reading.
CUresult serve_wait_stream(struct serve *serve, CUstream stream);
// As above, but no longer than TIMEOUT_MS: NOT_READY then.
CUresult serve_wait_stream_for(struct serve *serve, CUstream stream, int timeout_ms);
// Asks QUERY with ARGS until it is done, somebody else sends something, or the spin time is over.
// The last answer.
CUresult serve_ask_a_while(struct serve *serve,
                           CUresult (*query)(struct serve *serve, const void *args),
                           const void *args);
// Takes a wait of so long into the guess at how long the next one will be.
void serve_note_wait(uint64_t ns);
// Around a call of the driver that drains the GPU (gates.h), where the request's trait does not say
// so.
void serve_drain(struct serve *serve);
void serve_drained(void);

#endif
