// SPDX-License-Identifier: BSD-3-Clause
// Copies between this worker's GPU and a GPU of another box.
//
// A copy belongs to a stream of one of the two boxes, which waits on a semaphore. When the stream
// has reached it and the other box is ready, the source's box sends the data block by block and the
// target's box stores them. The semaphore is signalled when everything is stored. So only one box
// orders the stream. Blocks never wait for a stream, so all copies share the blocks of a link
// without delaying each other.
#ifndef RGPU_WORKER_PEER_JOBS_H
#define RGPU_WORKER_PEER_JOBS_H

#include "daemon/worker/peer/peer_job.h"

// Gives the peer_mover its work, and watches contexts. Must be called before requests are served.
void peer_jobs_prepare(void);
// Begins a copy that the client's request has filled in. The caller holds the lock.
void peer_job_begin(struct peer_job *job);
// Waits for all copies of link NUMBER up to number ID that belong to a stream of this end. Stops if
// copies no longer end.
void peer_jobs_settle(uint32_t number, uint64_t id);

#endif
