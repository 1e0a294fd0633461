// SPDX-License-Identifier: BSD-3-Clause
// Puts of kernels into windows of other boxes (far_puts.c): what the kernels write into their mailboxes is taken from there
// while they run, and sent, and what comes from other boxes is stored and counted.
//
// Over a link everything goes in one order, and a signal is counted only when its put and all before it are stored: the stream
// that stores data counts behind them. So data are there before the signals that follow them, whichever block has sent them. A put is cut into pieces, each a block of the link with all that
// is to be known of it; the last one has the signal.
//
// All under the lock of peer_link.h, by the peer_mover's thread, unless it is said otherwise.
#ifndef RGPU_WORKER_FAR_PUTS_H
#define RGPU_WORKER_FAR_PUTS_H

#include <stdbool.h>

#include "worker/peer/kernel_windows.h"
#include "worker/peer/peer_jobs.h"

// Whether there is something to do, or soon may be.
bool far_puts_any(void);
// Takes everything a step further, the link's part of it after its frames were read. Whether anything happened.
bool far_puts_take_letters(void);
bool far_puts_advance(struct peer_link *link);
// BLOCK has been written into the other end's memory, and can be told of.
void far_puts_written(struct peer_link *link, struct peer_block *block);
// A block with a put has come, which is the reader's until now. Any thread.
void far_puts_came(struct peer_link *link, struct peer_block *block);
// So many of ours are over at the other end. Any thread.
void far_puts_over(struct peer_link *link, uint64_t count);

// Any thread, without the lock, with the context current: has the driver make what stores there will need, before others know
// the WINDOW and for a link.
CUresult far_puts_ready(struct kernel_window *window);
CUresult far_puts_warm(uint32_t peer, CUcontext context);
// What has been queued in CONTEXT is over. No put is taken for it any more.
void far_puts_await(CUcontext context);

#endif
