// SPDX-License-Identifier: BSD-3-Clause
// The client's states of the staging blocks.
#include "client-lib/cuda/session/staging_blocks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "cuda_ops.h"

static int make_blocks(struct box_session *session)
{
    const struct link_staging *shared = session->staging;
    if (shared->block_count == 0 || shared->block_count > LINK_FLAGS - FENCE_FLAGS)
        return -1;
    struct staging *staging =
        calloc(1, sizeof(*staging) + shared->block_count * sizeof(staging->blocks[0]));
    if (!staging)
        return -1;
    pthread_mutex_init(&staging->lock, NULL);
    staging->count = shared->block_count;
    staging->size = shared->block_size;
    staging->pending_end = &staging->pending;
    session->blocks = staging;
    return 0;
}

// Called before any other use of the link.
static int send_record(struct box_session *session, const void *record, size_t size)
{
    void *room = link_reserve(session->link, size);
    if (!room)
        return -EPIPE;
    memcpy(room, record, size);
    link_commit(session->link);
    return 0;
}

// Reports the staging blocks to the box.
static int reach_staging(struct box_session *session)
{
    struct {
        struct wire_request head;
        struct args_host_reach args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_host_reach},
        .args = {.address = (uintptr_t)session->staging->base,
                 .size = session->staging->size,
                 .region = WIRE_REGION_STAGING},
    };
    return link_expose_staging(session->link, &record.args.key)
               ? -EPIPE
               : send_record(session, &record, sizeof(record));
}

// Reports forced paths to the box, for those choices that only the box makes.
static int force_paths(struct box_session *session)
{
    struct {
        struct wire_request head;
        struct args_paths_forced args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_paths_forced},
        .args = {.paths = session->forced_paths},
    };

    if (!session->forced_paths || !session_knows(session, OP_paths_forced))
        return 0;
    return send_record(session, &record, sizeof(record));
}

int staging_start(struct box_session *session, struct session_error *error)
{
    session->staging = link_staging(session->link);
    session->memory = memory_model_of(link_memory(session->link));
    if ((session->memory->reaches_page_locked && reach_staging(session) != 0) ||
        force_paths(session) != 0) {
        error->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
        strcpy(error->text, "the link went down before the first call");
        return -1;
    }
    if (session->staging && make_blocks(session) != 0) {
        error->result = CUDA_ERROR_OUT_OF_MEMORY;
        strcpy(error->text, "no memory for the session's staging blocks");
        return -1;
    }
    return 0;
}

uint32_t block_index(const struct staging *staging, const struct staging_block *block)
{
    return (uint32_t)(block - staging->blocks);
}

void *block_memory(const struct box_session *session, const struct staging_block *block)
{
    const struct link_staging *shared = session->staging;
    return (uint8_t *)shared->base + shared->blocks_offset +
           (uint64_t)block_index(session->blocks, block) * shared->block_size;
}

uint64_t block_name(const struct box_session *session, const struct staging_block *block)
{
    const struct link_staging *shared = session->staging;
    return WIRE_HOST(WIRE_REGION_STAGING,
                     shared->blocks_offset +
                         (uint64_t)block_index(session->blocks, block) * shared->block_size);
}

static uint32_t flag_now(const struct box_session *session, uint32_t index)
{
    return atomic_load_explicit((_Atomic uint32_t *)&session->staging->flags[index],
                                memory_order_acquire);
}

bool flag_reached(const struct box_session *session, uint32_t index, uint32_t value)
{
    return (int32_t)(flag_now(session, index) - value) >= 0;
}

bool flag_says_ask(const struct box_session *session, uint32_t index, uint32_t value)
{
    return flag_now(session, index) == WIRE_FLAG_ASK(value);
}

static bool block_done(const struct box_session *session, const struct staging_block *block)
{
    return flag_reached(session, block_index(session->blocks, block), block->use);
}

// Returns true if a wait for AWAITED should include BLOCK, the next one of the same stream. If each
// sleep takes longer than a block, a thread should find several free blocks after it: up to half of
// all blocks, while the other half is in transit.
static bool waits_for_that_too(const struct box_session *session,
                               const struct staging_block *awaited,
                               const struct staging_block *block)
{
    uint64_t half = (uint64_t)session->blocks->count * session->blocks->size / 2;
    return session->memory->flags_come_late && awaited->state == BLOCK_SENT &&
           block->state == BLOCK_SENT && awaited->stream == block->stream &&
           awaited->size + block->size <= half;
}

// Returns the Nth block to try. If waits are sleeps, blocks are taken in turn, so that consecutive
// blocks of a stream have consecutive numbers. Otherwise the first free block is taken: it was used
// recently, and is likely to be in a processor's cache.
static struct staging_block *nth_block(const struct box_session *session, uint32_t n)
{
    struct staging *staging = session->blocks;
    uint32_t first = session->memory->flags_come_late ? staging->next : 0;
    return &staging->blocks[(first + n) % staging->count];
}

static struct staging_block *staging_blocks_take(struct staging *staging,
                                                 struct staging_block *block)
{
    block->state = BLOCK_FILLING;
    block->taken = ++staging->takes;
    staging->next = block_index(staging, block) + 1;
    return block;
}

struct staging_block *block_find_free(struct box_session *session, struct staging_block *awaited,
                                      int *index)
{
    struct staging *staging = session->blocks;
    bool more = false;
    *index = -1;
    SCOPED_LOCK(&staging->lock);
    for (uint32_t i = 0; i < staging->count; i++) {
        struct staging_block *block = nth_block(session, i);
        if (block->state == BLOCK_SENT && block_done(session, block))
            block->state = BLOCK_FREE;
        if (block->state == BLOCK_FREE)
            return staging_blocks_take(staging, block);
        bool older = block->state != BLOCK_FILLING && (*index < 0 || block->taken < awaited->taken);
        more = older || (more && waits_for_that_too(session, awaited, block));
        if (more) {
            uint32_t before = older ? 0 : awaited->size;
            *awaited = *block;
            awaited->size += before;
            *index = (int)block_index(staging, block);
        }
    }
    return NULL;
}

void block_set(struct box_session *session, struct staging_block *block, int state)
{
    SCOPED_LOCK(&session->blocks->lock);
    block->state = state;
}

void block_abandon(struct box_session *session, struct staging_block *block)
{
    session->staging->flags[block_index(session->blocks, block)] = block->use;
    block_set(session, block, BLOCK_FREE);
}

void block_owe(struct box_session *session, struct staging_block *block, void *to)
{
    struct staging *staging = session->blocks;
    SCOPED_LOCK(&staging->lock);
    block->pending_to = to;
    block->next = NULL;
    block->state = BLOCK_PENDING;
    *staging->pending_end = block;
    staging->pending_end = &block->next;
    staging->pending_count++;
}

// Moves the data of a block with a pending delivery to their destination. The caller holds the
// staging lock.
static void staging_blocks_settle(struct box_session *session, struct staging_block *block)
{
    memcpy(block->pending_to, block_memory(session, block), block->size);
    block->state = BLOCK_FREE;
}

bool staging_pending(const struct box_session *session)
{
    return session->blocks &&
           atomic_load_explicit(&session->blocks->pending_count, memory_order_relaxed);
}

void staging_deliver(struct box_session *session)
{
    struct staging *staging = session->blocks;
    if (!staging_pending(session))
        return;
    SCOPED_LOCK(&staging->lock);
    struct staging_block **at = &staging->pending;
    while (*at) {
        struct staging_block *block = *at;
        if (block_done(session, block)) {
            *at = block->next;
            staging->pending_count--;
            staging_blocks_settle(session, block);
        } else {
            at = &block->next;
        }
    }
    staging->pending_end = at;
}
