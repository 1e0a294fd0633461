// SPDX-License-Identifier: BSD-3-Clause
// Copies between this worker's GPU and the GPU of another box (peer_jobs.c).
//
// A copy belongs to a stream of one of the two boxes, which holds the stream on a semaphore. When
// the stream has reached the semaphore and the other box is ready, the source's box sends the data
// block by block, and the target's box stores them. The semaphore is signalled when all data are
// stored. So only one box keeps the order of a stream. No block waits for a stream, so the blocks
// of a link serve all its copies, and no copy delays another.
#ifndef RGPU_WORKER_PEER_JOBS_H
#define RGPU_WORKER_PEER_JOBS_H

#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/peer/peer_link.h"
#include "daemon/worker/peer/peer_route.h"
#include "daemon/worker/peer/peer_shape.h"

// The progress of a copy at this end, and at the other end as far as it is known. Each only rises.
enum peer_here {
    HERE_ANNOUNCED, // by the other end; the client has not requested it here yet
    HERE_REQUESTED, // waits until the stream at this end has reached it
    HERE_DUE,       // the stream has reached it, or is at the other end
    HERE_REPORTED   // the other end knows that this end is ready, or that the stream has reached it
};
enum peer_there {
    THERE_SILENT,
    THERE_READY, // is ready, or its stream has reached the copy
    THERE_DONE,  // has stored all data, or has written all data into memory of this end
    THERE_FAILED // or the link is lost
};

struct peer_job {
    struct peer_link *link;
    uint64_t id, waiting;
    bool owns, sends; // this end has the stream; this end has the source
    enum peer_here here;
    enum peer_there there;
    struct peer_shape shape;
    uint64_t total;
    CUcontext context;               // of the memory; NULL: it has ended
    CUcontext start_context;         // of the event; NULL: there is no event
    CUevent start;                   // recorded in the stream before the semaphore
    CUstream stream;                 // if this end has it
    struct peer_job *ahead, *behind; // neighbours in the stream; only the first one is queried
    struct peer_route route;
    int semaphore; // held until the end, so that no call frees the memory meanwhile
    uint32_t value;
    uint64_t queued, over;     // bytes whose copies are queued, and bytes that are complete
    struct peer_queue flying;  // blocks being copied by the GPU, in order
    struct peer_queue writing; // blocks being written into the other end's memory
    struct peer_queue arrived; // received blocks that are not stored yet
    CUresult result;
    struct copied_range copied;
    struct peer_job *next;
};

// Starts the thread before requests are served. Returns 0 or -errno.
int peer_jobs_start(void);
void peer_jobs_prepare(void); // watches contexts
// Returns the copy with number ID; creates it if the other end reports it before the client
// requests it here. NULL: no memory, or the other end has reported too many. Under lock.
struct peer_job *peer_job_get(struct peer_link *link, uint64_t id);
// Returns the copy with number ID; NULL: there is none. Under lock.
struct peer_job *peer_job_find(struct peer_link *link, uint64_t id);
// Begins JOB after the client's request has filled it in. Under lock.
void peer_job_begin(struct peer_job *job);
// Records what the other end has reported. A report that is out of order is ignored. Under lock.
void peer_job_note(struct peer_job *job, enum peer_there there);
// Records that JOB has failed here or at the other end. Under lock.
void peer_job_fail(struct peer_job *job, CUresult result);
// The following functions serve puts of kernels, too. The peer_mover's thread calls them under the
// lock, which peer_send_frame releases while it sends.
void peer_queue_push(struct peer_queue *queue, struct peer_block *block);
struct peer_block *peer_queue_pop(struct peer_queue *queue);
uint32_t peer_block_bit(const struct peer_block *block);
void peer_block_return(struct peer_link *link, struct peer_block *block);
void peer_send_frame(struct peer_link *link, struct wire_peer_frame frame, const void *payload);
// Returns true if the other end has a free block.
bool peer_has_room(const struct peer_link *link);
// Starts to write BLOCK into a free block of the other end. Returns -errno if the link is down.
int peer_block_write(struct peer_link *link, struct peer_block *block);
// Makes all present and future copies of LINK fail with RESULT. Under lock.
void peer_link_lose(struct peer_link *link, CUresult result);
// Waits until all copies of the link NUMBER up to ID that belong to a stream of this end have
// ended, as long as copies end at all.
void peer_jobs_settle(uint32_t number, uint64_t id);

#endif
