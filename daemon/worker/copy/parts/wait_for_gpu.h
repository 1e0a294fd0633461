// SPDX-License-Identifier: BSD-3-Clause
// Waits of requests: for the GPU, and for the exclusion that implicit synchronization needs. A wait
// of microseconds is cheaper in the thread that reads than handing the link to another one.
#ifndef RGPU_WORKER_WAIT_FOR_GPU_H
#define RGPU_WORKER_WAIT_FOR_GPU_H

#include "daemon/worker/request/serve.h"

// Lets another thread read the link from here on; for a request that goes on to wait.
void serve_let_others_read(struct serve *serve);
// Waits for all work of STREAM: for a moment while reading stops, then with others reading.
CUresult serve_wait_stream(struct serve *serve, CUstream stream);
// As above, but no longer than TIMEOUT_MS: NOT_READY then.
CUresult serve_wait_stream_for(struct serve *serve, CUstream stream, int timeout_ms);
// Calls QUERY with ARGS until it is done, a record arrives, or the spin time is over. Returns its
// last result.
CUresult serve_ask_a_while(struct serve *serve,
                           CUresult (*query)(struct serve *serve, const void *args),
                           const void *args);
// Adds a wait of NS to the estimate of the next wait.
void serve_note_wait(uint64_t ns);
// Bracket a call of the driver that synchronizes implicitly (semaphores.h), if the request does not
// have that trait.
void serve_sync_begins(struct serve *serve);
void serve_sync_ended(void);

#endif
