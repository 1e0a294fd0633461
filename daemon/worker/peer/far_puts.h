// SPDX-License-Identifier: BSD-3-Clause
// Puts by kernels into windows of other boxes. While kernels run, takes put requests from their
// proxy queues and sends them; stores and counts the puts of other boxes.
//
// A link keeps the order, and one stream stores data and counts signals. So a signal is counted
// after its put and all earlier ones are stored, whichever thread block has sent them. A put is
// sent in chunks, each with a complete description; the last one has the signal.
//
// Unless stated otherwise, called by the peer_mover's thread with the lock of peer_link.h held.
#ifndef RGPU_WORKER_FAR_PUTS_H
#define RGPU_WORKER_FAR_PUTS_H

#include <stdbool.h>

#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/peer/peer_link.h"

// Returns true if there is work, or will be soon.
bool far_puts_any(void);
// Advance all puts: the first takes put requests of kernels, the second processes the received
// frames of LINK. Return true if there was progress.
bool far_puts_take_put_requests(void);
bool far_puts_advance(struct peer_link *link);
// BLOCK is in the peer's memory: its frame can be sent.
void far_puts_written(struct peer_link *link, struct peer_block *block);
// Takes over BLOCK, which contains a received put. Thread-safe.
void far_puts_came(struct peer_link *link, struct peer_block *block);
// Marks COUNT of this worker's puts as completed by the peer. Thread-safe.
void far_puts_over(struct peer_link *link, uint64_t count);

// Create the driver's objects that stores need: before other boxes know WINDOW, and for the link
// number PEER. The context must be current. Thread-safe; the caller must not hold the lock.
CUresult far_puts_ready(struct kernel_window *window);
CUresult far_puts_warm(uint32_t peer, CUcontext context);
// Waits for the work queued in CONTEXT, which takes no further puts.
void far_puts_await(CUcontext context);

#endif
