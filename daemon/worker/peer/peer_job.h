// SPDX-License-Identifier: BSD-3-Clause
// One copy between this worker's GPU and a GPU of another box: its states, its frames and how it
// fails; and the queues of blocks that copies and puts share. The caller holds the lock of
// peer_mover.
#ifndef RGPU_WORKER_PEER_JOB_H
#define RGPU_WORKER_PEER_JOB_H

#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/peer/peer_link.h"
#include "daemon/worker/peer/peer_route.h"
#include "daemon/worker/peer/peer_shape.h"

// Progress of a copy at this end, and at the other end as far as known. The values only increase.
enum peer_here {
    HERE_ANNOUNCED, // announced by the other end; not requested by the client here yet
    HERE_REQUESTED, // waits for the stream of this end
    HERE_DUE,       // the stream has reached it, or is at the other end
    HERE_REPORTED   // the other end knows that this end is ready
};
enum peer_there {
    THERE_SILENT,
    THERE_READY, // the other end is ready, or its stream has reached the copy
    THERE_DONE,  // has stored all data, or has written all data to memory of this end
    THERE_FAILED // has failed, or the link is lost
};

struct peer_job {
    struct peer_link *link;
    uint64_t id, waiting;
    bool owns, sends; // the stream is at this end; the source is at this end
    enum peer_here here;
    enum peer_there there;
    struct peer_shape shape;
    uint64_t total;
    CUcontext context;       // context of the memory; NULL: it has ended
    CUcontext start_context; // context of the event; NULL: there is no event
    CUevent start;           // recorded in the stream before the semaphore
    CUstream stream;         // only if `owns`
    // previous and next copy of the stream; only the first one is queried
    struct peer_job *ahead, *behind;
    struct peer_route route;
    int semaphore; // held until the end, so that no call frees the memory
    uint32_t value;
    uint64_t queued, over;     // bytes whose GPU copies are queued, and bytes that are complete
    struct peer_queue flying;  // blocks with a GPU copy in flight, in order
    struct peer_queue writing; // blocks that are being written to the peer's memory
    struct peer_queue arrived; // received blocks that are not stored yet
    CUresult result;
    struct copied_range copied;
    struct peer_job *next;
};

// Returns copy number ID; creates it if the other end announces it before the client requests it.
// NULL: no memory, or too many announced copies.
struct peer_job *peer_job_get(struct peer_link *link, uint64_t id);
// Returns copy number ID or NULL.
struct peer_job *peer_job_find(struct peer_link *link, uint64_t id);
void peer_job_rise(struct peer_job *job, enum peer_here to);
// Records progress of the other end. A report that is out of order is ignored.
void peer_job_note(struct peer_job *job, enum peer_there there);
// Records that the copy has failed, here or at the other end.
void peer_job_fail(struct peer_job *job, CUresult result);
// Makes all present and later copies of LINK fail with RESULT.
void peer_link_lose(struct peer_link *link, CUresult result);
// Both release the lock while they send. Only the peer_mover's thread calls them.
void peer_job_say(struct peer_job *job, enum wire_peer_kind kind);
void peer_send_frame(struct peer_link *link, struct wire_peer_frame frame, const void *payload);

void peer_queue_push(struct peer_queue *queue, struct peer_block *block);
struct peer_block *peer_queue_pop(struct peer_queue *queue);
uint32_t peer_block_bit(const struct peer_block *block);
void peer_block_return(struct peer_link *link, struct peer_block *block);

#endif
