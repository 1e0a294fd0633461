// SPDX-License-Identifier: BSD-3-Clause
// Copies between our GPU and another box's (peer_jobs.c).
//
// A copy belongs to a stream of one of the two boxes, which holds the stream on a semaphore. When
// the stream has reached the semaphore and the other box takes part, the source's box copies the
// data block by block and sends each block, and the target's box stores them. The semaphore is
// signalled when all data are stored. So only one of the two boxes has an order to keep, and no
// block waits for a stream: the blocks of a link serve all its copies, and no copy can delay
// another.
#ifndef RGPU_WORKER_PEER_JOBS_H
#define RGPU_WORKER_PEER_JOBS_H

#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/peer/peer_link.h"
#include "daemon/worker/peer/peer_route.h"
#include "daemon/worker/peer/peer_shape.h"

// The progress of a copy at this end, and at the other end as far as it is known. Each only rises.
enum peer_here {
    HERE_ANNOUNCED, // by the other end; the client has not requested it here yet
    HERE_REQUESTED, // waits until our stream has reached it
    HERE_DUE,       // our stream has reached it, or the stream is the other end's
    HERE_REPORTED   // the other end knows that we take part, or that our stream has reached it
};
enum peer_there {
    THERE_SILENT,
    THERE_READY, // takes part, or its stream has reached the copy
    THERE_DONE,  // has stored all of it, or has written all of it into our memory
    THERE_FAILED // or the link is lost
};

struct peer_job {
    struct peer_link *link;
    uint64_t id, waiting;
    bool owns, sends; // the stream is ours; the source is
    enum peer_here here;
    enum peer_there there;
    struct peer_shape shape;
    uint64_t total;
    CUcontext context;       // of the memory; NULL: gone
    CUcontext start_context; // of the event; NULL: there is none
    CUevent start;           // where our stream was
    CUstream stream;         // ours
    struct peer_job *ahead,
        *behind; // in our stream, which stands at one of them: the others are not asked for
    struct peer_route route; // whether there are blocks between
    int semaphore;           // which also keeps out what would free the memory
    uint32_t value;
    uint64_t queued, over;     // bytes that have been given to the GPU, and that are done with
    struct peer_queue flying;  // copies under way, in order
    struct peer_queue writing; // blocks that are written into the other end's memory
    struct peer_queue arrived; // blocks to be stored
    CUresult result;
    struct copied_range copied;
    struct peer_job *next;
};

int peer_jobs_start(void);    // before requests are served; -errno
void peer_jobs_prepare(void); // watches contexts
// The copy of that number, if need be made, as the other end may speak of it before the client has
// asked for it here. NULL: no memory, or the other end tells of too many. Under lock.
struct peer_job *peer_job_get(struct peer_link *link, uint64_t id);
struct peer_job *peer_job_find(struct peer_link *link,
                               uint64_t id); // NULL: there is none. Under lock.
// JOB has been asked for, and all of it but what the other end says is known. Under lock.
void peer_job_begin(struct peer_job *job);
// Records what the other end has reported. A report that is out of order is ignored. Under lock.
void peer_job_note(struct peer_job *job, enum peer_there there);
// It has failed, here or at the other end. Under lock.
void peer_job_fail(struct peer_job *job, CUresult result);
// Functions of a link that puts of kernels use as well. Called under the lock by the peer_mover's
// thread, which releases it while it sends.
void peer_queue_push(struct peer_queue *queue, struct peer_block *block);
struct peer_block *peer_queue_pop(struct peer_queue *queue);
uint32_t peer_block_bit(const struct peer_block *block);
void peer_block_return(struct peer_link *link, struct peer_block *block);
void peer_send_frame(struct peer_link *link, struct wire_peer_frame frame, const void *payload);
bool peer_has_room(const struct peer_link *link); // the other end has a block for one more
// Begins to write BLOCK into a block of the other end's, which there is; -errno: the link is down.
int peer_block_write(struct peer_link *link, struct peer_block *block);
// All copies of LINK fail, and will. Under lock.
void peer_link_lose(struct peer_link *link, CUresult result);
// Waits until no copy up to that number belongs to a stream of ours.
void peer_jobs_settle(uint32_t number, uint64_t id);

#endif
