// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_job.h"

#include <stdlib.h>

#include "common/base/assert.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/peer/peer_windows.h"

enum { HALF_KNOWN_MAX = 4096 };

void peer_queue_push(struct peer_queue *queue, struct peer_block *block)
{
    block->next = NULL;
    if (queue->last)
        queue->last->next = block;
    else
        queue->first = block;
    queue->last = block;
}

struct peer_block *peer_queue_pop(struct peer_queue *queue)
{
    struct peer_block *block = queue->first;

    queue->first = block->next;
    if (!queue->first)
        queue->last = NULL;
    return block;
}

uint32_t peer_block_bit(const struct peer_block *block)
{
    return UINT32_C(1) << block->slot;
}

void peer_block_return(struct peer_link *link, struct peer_block *block)
{
    peer_block_give(&link->blocks, block);
    link->uncredited++;
    link->freed |= peer_block_bit(block);
}

// ---- states ----

void peer_job_rise(struct peer_job *job, enum peer_here to)
{
    static const uint8_t may[] = {
        [HERE_ANNOUNCED] = 1 << HERE_REQUESTED | 1 << HERE_DUE,
        [HERE_REQUESTED] = 1 << HERE_DUE,
        [HERE_DUE] = 1 << HERE_REPORTED,
        [HERE_REPORTED] = 0,
    };

    RGPU_ASSERT(may[job->here] >> to & 1);
    job->here = to;
}

void peer_job_note(struct peer_job *job, enum peer_there there)
{
    static const uint8_t may[] = {
        // A source with the stream reports nothing before its data.
        [THERE_SILENT] = 1 << THERE_READY | 1 << THERE_DONE | 1 << THERE_FAILED,
        [THERE_READY] = 1 << THERE_DONE | 1 << THERE_FAILED,
        [THERE_DONE] = 1 << THERE_FAILED,
        [THERE_FAILED] = 0,
    };

    if (may[job->there] >> there & 1)
        job->there = there;
}

// ---- frames; the lock is given up while one is sent ----

void peer_send_frame(struct peer_link *link, struct wire_peer_frame frame, const void *payload)
{
    if (link->lost != CUDA_SUCCESS)
        return;
    pthread_mutex_unlock(&peer_mover.lock);
    bool sent = peer_link_send(link, frame, payload);
    pthread_mutex_lock(&peer_mover.lock);
    if (!sent)
        peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
}

void peer_job_say(struct peer_job *job, enum wire_peer_kind kind)
{
    struct wire_peer_frame frame = {.kind = kind, .job = job->id, .result = (int32_t)job->result};

    if (kind == PEER_READY)
        frame.result = job->route.may;
    else if (kind == PEER_GO)
        frame.result = peer_route_reads_source(&job->route);
    if (job->route.direct && !job->sends && (kind == PEER_READY || kind == PEER_GO)) {
        frame.offset = job->shape.address;
        frame.slot = direct_key(job->route.direct);
    }
    peer_send_frame(job->link, frame, NULL);
}

// ---- the copies of a link ----

struct peer_job *peer_job_find(struct peer_link *link, uint64_t id)
{
    struct peer_job *job = link->jobs;

    while (job && job->id != id)
        job = job->next;
    return job;
}

struct peer_job *peer_job_get(struct peer_link *link, uint64_t id)
{
    struct peer_job *job = peer_job_find(link, id), **at = &link->jobs;

    // Copies are asked for in the order of their numbers, so that one which is not there any more
    // has ended.
    if (job || id <= link->newest || link->half_known == HALF_KNOWN_MAX)
        return job;
    job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->link = link;
    job->id = id;
    job->semaphore = -1;
    while (*at)
        at = &(*at)->next;
    *at = job;
    link->half_known++;
    link->job_count++;
    return job;
}

// ---- failures ----

void peer_job_fail(struct peer_job *job, CUresult result)
{
    if (job->result == CUDA_SUCCESS)
        job->result = result;
    while (job->arrived.first)
        peer_block_return(job->link, peer_queue_pop(&job->arrived));
}

// Reported to the client before its effects.
static void tell_loss(const struct peer_link *link, CUresult result)
{
    const struct wire_peer_over over = {.peer = link->number, .result = (int32_t)result};

    event_send(EVENT_PEER_OVER, &over, sizeof(over), 0);
}

void peer_link_lose(struct peer_link *link, CUresult result)
{
    if (link->lost == CUDA_SUCCESS && link->direct)
        tell_loss(link, result);
    if (link->lost == CUDA_SUCCESS)
        link->lost = result;
    if (link->direct)
        link_shutdown(link->direct);
    kernel_windows_lose(link->number);
    if (link->reaches)
        peer_windows_drop(link->number);
    link->reaches = false;
    for (struct peer_job *job = link->jobs; job; job = job->next) {
        peer_job_note(job, THERE_FAILED);
        peer_job_fail(job, result);
    }
    pthread_cond_signal(&peer_mover.added);
}
