// SPDX-License-Identifier: BSD-3-Clause
// Puts of kernels into windows of other boxes (far_puts.c): the put requests that kernels write
// into their proxy queues are taken and sent while the kernels run, and those of other boxes are
// stored and counted.
//
// A link keeps one order, and a signal is counted only after its put and all earlier ones are
// stored: the stream that stores data counts after them. So data are there before the signals that
// follow them, whichever thread block has sent them. A put is cut into pieces, each a block of the
// link with its complete description; the last one has the signal.
//
// All functions are called under the lock of peer_link.h by the peer_mover's thread, unless stated
// otherwise.
#ifndef RGPU_WORKER_FAR_PUTS_H
#define RGPU_WORKER_FAR_PUTS_H

#include <stdbool.h>

#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/peer/peer_jobs.h"

// Returns true if there is work now or may be soon.
bool far_puts_any(void);
// Take all puts a step further: the first takes put requests of kernels, the second serves LINK
// after its frames were read. Return true if there was progress.
bool far_puts_take_put_requests(void);
bool far_puts_advance(struct peer_link *link);
// Records that BLOCK is in the other end's memory, so that its frame can be sent.
void far_puts_written(struct peer_link *link, struct peer_block *block);
// A block with a put has come, which is the reader's until now. Any thread.
void far_puts_came(struct peer_link *link, struct peer_block *block);
// Marks COUNT of our puts as completed by the peer. Any thread.
void far_puts_over(struct peer_link *link, uint64_t count);

// Any thread, without the lock, with the context current: has the driver make what stores there
// will need, before others know the WINDOW and for a link.
CUresult far_puts_ready(struct kernel_window *window);
CUresult far_puts_warm(uint32_t peer, CUcontext context);
// Waits for the work queued in CONTEXT. No further put is taken for it.
void far_puts_await(CUcontext context);

#endif
