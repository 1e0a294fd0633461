// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "daemon/worker/peer/far_puts.h"
#include "daemon/worker/peer/peer_job.h"

// Drops the payload if the sender has more in flight than there is room for, or if the link is not
// one of ours.
static int drop_payload(const struct wire_peer_frame *frame, struct link *from)
{
    SCOPED_FREE uint8_t *nowhere = malloc(WIRE_BLOCK_SIZE);

    return nowhere ? link_receive_bulk(from, nowhere, frame->bytes) : -ENOMEM;
}

// Returns the block for the payload; *BEHIND is set if the payload after the frame must be read
// into it.
static struct peer_block *peer_frames_take_block(const struct wire_peer_frame *frame,
                                                 struct peer_link **out, bool *behind)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = *out = peer_link_find(frame->peer);
    *behind = !link || link->carriage == PEER_BEHIND;
    if (!link)
        return NULL;
    return *behind ? peer_block_take_any(&link->blocks)
                   : peer_block_take_slot(&link->blocks, frame->slot);
}

static int take_data(const struct wire_peer_frame *frame, struct link *from)
{
    struct peer_link *link;
    bool behind;
    struct peer_block *block = peer_frames_take_block(frame, &link, &behind);

    if (!block)
        return behind ? drop_payload(frame, from) : -EPROTO;
    int err = behind ? link_receive_bulk(from, block->data, frame->bytes) : 0;
    SCOPED_LOCK(&peer_mover.lock);
    block->offset = frame->offset;
    block->size = frame->bytes;
    if (frame->kind == PEER_PUT) {
        if (err)
            peer_block_return(link, block);
        else
            far_puts_came(link, block);
        pthread_cond_signal(&peer_mover.added);
        return err;
    }
    struct peer_job *job = peer_job_find(link, frame->job);
    bool fits = job && job->here != HERE_ANNOUNCED && !job->sends &&
                peer_shape_has_piece(&job->shape, frame->offset, frame->bytes);
    if (!err && fits && job->result == CUDA_SUCCESS)
        peer_queue_push(&job->arrived, block);
    else
        peer_block_return(link, block);
    if (job && job->here != HERE_ANNOUNCED && !fits)
        peer_job_fail(job, CUDA_ERROR_UNKNOWN);
    pthread_cond_signal(&peer_mover.added);
    return err;
}

static void take_word(const struct wire_peer_frame *frame, struct peer_job *job)
{
    switch ((enum wire_peer_kind)frame->kind) {
    case PEER_READY:
    case PEER_GO:
        if (job->queued) // it goes its way
            return;
        peer_job_note(job, THERE_READY);
        peer_route_hear(&job->route, frame->offset, frame->slot, frame->result == 1);
        job->route.wanted = frame->kind == PEER_GO && frame->result == 1;
        return;
    case PEER_REGISTER: job->route.wanted = true; return;
    case PEER_PLACED:
    case PEER_DONE: peer_job_note(job, THERE_DONE); return;
    case PEER_FAILED:
        peer_job_note(job, THERE_FAILED);
        peer_job_fail(job, frame->result ? (CUresult)frame->result : CUDA_ERROR_UNKNOWN);
        return;
    case PEER_DATA:
    case PEER_BLOCKS:
    case PEER_PUT:
    case PEER_PUT_OVER:
    case PEER_CREDIT: return;
    }
}

static void take_credit(const struct wire_peer_frame *frame, struct peer_link *link)
{
    uint32_t back = (uint32_t)frame->job & link->lent;

    link->credits += frame->offset < PEER_IN_BLOCKS ? (unsigned)frame->offset : PEER_IN_BLOCKS;
    link->lent &= ~back;
    for (; link->carriage == PEER_SHARED && back; back &= back - 1)
        peer_block_give(&link->blocks, &link->blocks.out[__builtin_ctz(back)]);
}

static uint32_t least_payload(const struct wire_peer_frame *frame)
{
    return frame->kind == PEER_DATA ? 1 : frame->kind == PEER_PUT ? WIRE_FAR_PUT_HEAD : 0;
}

int peer_take_frame(const struct wire_peer_frame *frame, struct link *from)
{
    uint32_t least = least_payload(frame);

    if (least)
        return frame->bytes >= least && frame->bytes <= WIRE_BLOCK_SIZE ? take_data(frame, from)
                                                                        : -EPROTO;
    if (frame->bytes)
        return -EPROTO;
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(frame->peer);
    if (!link)
        return 0;
    if (frame->kind == PEER_CREDIT) {
        take_credit(frame, link);
    } else if (frame->kind == PEER_PUT_OVER) {
        far_puts_over(link, frame->offset);
    } else if (frame->kind == PEER_BLOCKS) {
        link->far_blocks = frame->offset;
        link->far_key = (uint32_t)frame->job;
    } else {
        struct peer_job *job = peer_job_get(link, frame->job);
        if (job)
            take_word(frame, job);
    }
    pthread_cond_signal(&peer_mover.added);
    return 0;
}
