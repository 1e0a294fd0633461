// SPDX-License-Identifier: BSD-3-Clause
// Waits of requests: for the GPU, and for semaphores before an implicit synchronization. Short
// waits happen in the thread that reads the link, because passing the reading on costs more.
#ifndef RGPU_WORKER_WAIT_FOR_GPU_H
#define RGPU_WORKER_WAIT_FOR_GPU_H

#include "daemon/worker/request/serve.h"

// Makes another thread read the link. For a request that is about to wait.
void serve_let_others_read(struct serve *serve);
// Waits for all work of STREAM: first in the reading thread; after a short time another thread
// reads.
CUresult serve_wait_stream(struct serve *serve, CUstream stream);
// As serve_wait_stream(), for at most TIMEOUT_MS; then returns NOT_READY.
CUresult serve_wait_stream_for(struct serve *serve, CUstream stream, int timeout_ms);
// Calls QUERY until its result is final, a record arrives, or the spin time is over. Returns its
// last result.
CUresult serve_ask_a_while(struct serve *serve,
                           CUresult (*query)(struct serve *serve, const void *args),
                           const void *args);
// Asks QUERY about SUBJECT. To a program that asks the same again and again, the answer NOT_READY
// goes only after some microseconds, so that it gets a change at once. The reading thread calls.
CUresult serve_ask_for_change(struct serve *serve,
                              CUresult (*query)(struct serve *serve, const void *subject),
                              const void *subject);
// Adds a wait of NS nanoseconds to the prediction of the next wait.
void serve_note_wait(uint64_t ns);
// Must surround a driver call that synchronizes implicitly (semaphores.h), unless the request has
// the trait implicit_sync.
void serve_sync_begins(struct serve *serve);
void serve_sync_ended(void);

#endif
