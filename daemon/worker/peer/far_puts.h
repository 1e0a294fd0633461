// SPDX-License-Identifier: BSD-3-Clause
// Puts of kernels into windows of other boxes (far_puts.c). While kernels run, this takes the put
// requests in their proxy queues and sends them, and stores and counts the puts of other boxes.
//
// A link keeps one order, and one stream stores data and counts signals. So a signal is counted
// after its put and all earlier puts are stored, whichever thread block has sent them. A put is cut
// into pieces, each a block of the link with a complete description; the last piece has the signal.
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
// Advance all puts by a step: the first takes put requests of kernels, the second serves LINK after
// its frames were read. Return true if there was progress.
bool far_puts_take_put_requests(void);
bool far_puts_advance(struct peer_link *link);
// Records that BLOCK is in the other end's memory, so that its frame can be sent.
void far_puts_written(struct peer_link *link, struct peer_block *block);
// Takes over BLOCK, in which the reader has received a put. Thread-safe.
void far_puts_came(struct peer_link *link, struct peer_block *block);
// Marks COUNT puts of this worker as completed by the peer. Thread-safe.
void far_puts_over(struct peer_link *link, uint64_t count);

// Create the driver's objects that stores will need, before other boxes know WINDOW, and for the
// link PEER. The context is current. Thread-safe; called without the lock.
CUresult far_puts_ready(struct kernel_window *window);
CUresult far_puts_warm(uint32_t peer, CUcontext context);
// Waits for the work queued in CONTEXT. No further put is taken for it.
void far_puts_await(CUcontext context);

#endif
