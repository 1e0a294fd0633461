// SPDX-License-Identifier: BSD-3-Clause
// Copies between the GPU and the client's memory by RDMA: a thread reads blocks from the client, or
// writes them there, while the GPU copies other blocks. The client's processor is not involved. The
// stream of a copy waits on a semaphore until the last byte is moved.
//
// A move takes staging blocks when its stream has reached it. A move whose data were final from the
// start (in the client's staging blocks) is fetched earlier, as long as enough blocks remain for
// moves whose stream has reached them. Those always end, so none waits forever.
#include "daemon/worker/copy/one_sided/one_sided.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

enum {
    BLOCKS_KEPT = 4,
    POLL_BATCH = 16,
    DIRECT_PIECE = 1 << 20, // bytes of one operation
    DIRECT_FLYING = 8,      // of one move
    // With block_size = auto, a move is cut into that many blocks unless they would be too short.
    PARTS_LEAST = 4,
    PART_MIN = 128 << 10,
    PART_UNIT = 64 << 10,
};

static bool any_move(void);
static bool one_sided_make_progress(void);
struct one_sided one_sided = {.mover = MOVER(.name = "rgpu-one-sided", .has_work = any_move,
                                             .advance = one_sided_make_progress,
                                             .sleep = one_sided_sleep, .wake = one_sided_wake,
                                             .learns = true)};
struct reached_region reached[WIRE_REGION_LIMIT];

// All below under the lock.
static struct inflight_block inflight_blocks[INFLIGHT_MAX];
static struct inflight_block *idle[INFLIGHT_MAX];
static unsigned idle_count;
static _Atomic unsigned signals; // of the active

static CUresult one_sided_enter(const struct move *move)
{
    return mover_enter(&one_sided.mover, move->context);
}

// The stream that copies for MOVE, whose context is current then.
static CUresult copying_stream(const struct move *move, CUstream *out)
{
    return mover_stream(&one_sided.mover, move->context, move->kind, out);
}

// ---- blocks in flight ----

static struct inflight_block *one_sided_begin(enum inflight_stage stage, struct move *move,
                                              struct block *block)
{
    struct inflight_block *inflight = idle[--idle_count];

    *inflight = (struct inflight_block){.stage = stage, .move = move, .block = block};
    one_sided.active[one_sided.active_count++] = inflight;
    return inflight;
}

static void one_sided_retire(const struct inflight_block *inflight)
{
    for (unsigned i = 0; i < one_sided.active_count; i++) {
        if (one_sided.active[i] != inflight)
            continue;
        idle[idle_count++] = one_sided.active[i];
        memmove(&one_sided.active[i], &one_sided.active[i + 1],
                (--one_sided.active_count - i) * sizeof(one_sided.active[0]));
        return;
    }
}

void move_fail(struct move *move, CUresult result)
{
    if (move->result != CUDA_SUCCESS)
        return;
    move->result = result;
    one_sided.unready_failures += !move->ready;
    copied_range_over(&move->copied_range);
    session_keep_failure((int)result);
    semaphore_signal(move->semaphore,
                     move->value); // nothing is to wait for data that will not come
}

static bool post_signal(struct inflight_block *inflight)
{
    struct link_transfer transfer = {
        .cookie = inflight,
        .write = true,
        .local = &inflight->value,
        .size = sizeof(inflight->value),
        .remote = reached[WIRE_REGION_STAGING].address + pinned.staging->flags_offset +
                  (uint64_t)inflight->index * 4,
        .key = reached[WIRE_REGION_STAGING].key,
    };

    inflight->posted = link_transfer_start(session.link, &transfer) == 0;
    return inflight->posted;
}

void move_is_ready(struct move *move)
{
    move->ready = true;
}

// Posts the block's operation to the device. False: the device's queue is full. A link that is
// down is left to the thread that reads it, which ends the session.
static bool one_sided_post(struct inflight_block *inflight)
{
    struct link_transfer transfer = {.cookie = inflight,
                                     .write = inflight->stage == INFLIGHT_STORING};
    uint32_t parts = box_parts(inflight);

    for (; inflight->parts_posted < parts; inflight->parts_posted++) {
        box_part(inflight, inflight->parts_posted, &transfer);
        if (link_transfer_start(session.link, &transfer))
            return false;
    }
    inflight->posted = true;
    if (inflight->stage == INFLIGHT_STORING)
        inflight->move->stored += inflight->size;
    return true;
}

// Queues the copy of the block in *STREAM.
static CUresult copy_block(struct inflight_block *inflight, CUstream *stream)
{
    struct move *move = inflight->move;
    CUdeviceptr device = move->device + inflight->offset;
    CUresult result = copying_stream(move, stream);

    if (result != CUDA_SUCCESS)
        return result;
    activity_enter(move->call);
    if (move->box.width)
        result = box_copy(inflight, *stream);
    else if (move->kind == MOVE_TO_DEVICE)
        result =
            driver.cuMemcpyHtoDAsync_v2(device, inflight->block->data, inflight->size, *stream);
    else
        result =
            driver.cuMemcpyDtoHAsync_v2(inflight->block->data, device, inflight->size, *stream);
    activity_leave();
    return result;
}

static CUresult copy_to_device(struct inflight_block *inflight)
{
    struct move *move = inflight->move;
    CUstream stream;
    CUresult result = copy_block(inflight, &stream);

    if (result != CUDA_SUCCESS)
        return result;
    move->copied += inflight->size;
    if (move->copied == move->size)
        result = semaphore_signal_from(stream, move->semaphore, move->value);
    if (result == CUDA_SUCCESS)
        result = staging_record(inflight->block, move->context, stream);
    if (move->copied == move->size)
        copied_range_over(&move->copied_range);
    return result;
}

static CUresult copy_from_device(struct inflight_block *inflight)
{
    CUstream stream;
    CUresult result = copy_block(inflight, &stream);

    if (result == CUDA_SUCCESS)
        result = staging_record(inflight->block, inflight->move->context, stream);
    return result;
}

// Signals the semaphore after the client has been notified of the data. The client may read them as
// soon as the stream has gone on.
static void signal_when_reported(struct move *move)
{
    if (move->kind == MOVE_FROM_DEVICE && move->finished == move->size &&
        move->result == CUDA_SUCCESS && (move->flag == FLAG_NONE || move->flag == FLAG_TOLD))
        semaphore_signal(move->semaphore, move->value);
}

// The GPU sees what the device wrote before the stream goes on.
static void open_when_written(struct move *move)
{
    if (move->kind != MOVE_TO_DEVICE || move->finished != move->size ||
        move->result != CUDA_SUCCESS)
        return;
    CUresult result = one_sided_enter(move);
    if (result == CUDA_SUCCESS)
        result = direct_flush();
    if (result == CUDA_SUCCESS)
        semaphore_signal(move->semaphore, move->value);
    else
        move_fail(move, result);
}

static bool end_inflight(struct inflight_block *inflight)
{
    struct move *move = inflight->move;

    move->flying--;
    move->finished += inflight->size;
    if (inflight->block)
        staging_give(inflight->block);
    else
        open_when_written(move);
    signal_when_reported(move);
    return true;
}

static bool copy_is_over(struct inflight_block *inflight)
{
    CUresult result = one_sided_enter(inflight->move);

    if (result == CUDA_SUCCESS && !staging_done(inflight->block, &result))
        return false;
    if (result != CUDA_SUCCESS)
        move_fail(inflight->move, result);
    return true;
}

// A flag that follows the move's data on the same queue cannot overtake it.
static bool tell_flag(struct move *move)
{
    if (move->flag != FLAG_WANTED || move->stored != move->size || !idle_count ||
        move->result != CUDA_SUCCESS)
        return false;
    struct inflight_block *inflight = one_sided_begin(INFLIGHT_SIGNALLING, move, NULL);
    inflight->index = move->flag_index;
    inflight->value = move->flag_value;
    if (!post_signal(inflight)) {
        one_sided_retire(inflight);
        return false;
    }
    move->flag = FLAG_FLYING;
    move->flying++;
    return true;
}

// Takes an in-flight block one step further, and sets *ANY if it made progress. Returns true if the
// block is over.
static bool one_sided_advance(struct inflight_block *inflight, bool *any)
{
    struct move *move = inflight->move;
    CUresult result;

    switch (inflight->stage) {
    case INFLIGHT_SIGNALLING: return false; // the device tells
    case INFLIGHT_FETCHING:
        if (!inflight->posted && one_sided_post(inflight))
            *any = true;
        return false;
    case INFLIGHT_FETCHED:
        if (move->result != CUDA_SUCCESS)
            return end_inflight(inflight);
        if (!move->ready)
            return false;
        *any = true;
        inflight->stage = INFLIGHT_COPYING;
        result = copy_to_device(inflight);
        if (result != CUDA_SUCCESS)
            move_fail(move, result);
        return result != CUDA_SUCCESS && end_inflight(inflight);
    case INFLIGHT_COPYING:
        if (!copy_is_over(inflight))
            return false;
        *any = true;
        if (move->kind == MOVE_TO_DEVICE || move->result != CUDA_SUCCESS)
            return end_inflight(inflight);
        inflight->stage = INFLIGHT_STORING;
        one_sided_post(inflight);
        return false;
    case INFLIGHT_STORING:
        if (!inflight->posted && one_sided_post(inflight))
            *any = true;
        return false;
    }
    return false;
}

static bool advance_all(void)
{
    bool any = false;
    unsigned kept = 0;

    for (unsigned i = 0; i < one_sided.active_count; i++) {
        if (one_sided_advance(one_sided.active[i], &any)) {
            idle[idle_count++] = one_sided.active[i];
            any = true;
        } else {
            one_sided.active[kept++] = one_sided.active[i];
        }
    }
    one_sided.active_count = kept;
    return any;
}

// Takes the transfers that the device has completed. Returns true if there were any.
static bool take_transfers(void)
{
    void *cookies[POLL_BATCH];
    int count = link_transfer_poll(session.link, cookies, POLL_BATCH);

    for (int i = 0; i < count; i++) {
        struct inflight_block *inflight = cookies[i];
        if (inflight->stage != INFLIGHT_SIGNALLING && ++inflight->parts_over < box_parts(inflight))
            continue;
        if (inflight->stage == INFLIGHT_FETCHING && inflight->block) {
            inflight->stage = INFLIGHT_FETCHED;
            continue;
        }
        if (inflight->stage == INFLIGHT_STORING || inflight->stage == INFLIGHT_FETCHING) {
            end_inflight(inflight);
        } else if (inflight->move) {
            inflight->move->flag = FLAG_TOLD;
            inflight->move->flying--;
            signal_when_reported(inflight->move);
        } else {
            atomic_fetch_sub(&signals, 1);
        }
        one_sided_retire(inflight);
    }
    if (count > 0)
        pthread_cond_broadcast(&one_sided.mover.ended);
    return count > 0;
}

// ---- moves ----

static struct block *one_sided_take_block(const struct move *move)
{
    if (idle_count == 0)
        return NULL;
    if (move->kind == MOVE_FROM_DEVICE)
        return staging_take(STAGING_PULL, false);
    return move->ready ? staging_take(STAGING_PUSH, false)
                       : staging_take_spare(STAGING_PUSH, BLOCKS_KEPT);
}

// The same for a move that needs no block. It begins only when its stream has come to it: until
// then earlier work may still use the memory.
static bool issue_direct(struct move *move)
{
    uint64_t left = move->size - move->issued;

    // Moves of a row are served in the order in which they came, so that none is passed over for
    // long.
    if (move->follows && move->follows->issued < move->follows->size)
        return false;
    if (!idle_count || move->flying >= (!setup.worker.pipeline ? 1 : DIRECT_FLYING))
        return false;
    struct inflight_block *inflight =
        one_sided_begin(move->kind == MOVE_TO_DEVICE ? INFLIGHT_FETCHING : INFLIGHT_STORING, move,
                        NULL);
    inflight->offset = move->issued;
    inflight->size = left < DIRECT_PIECE ? (uint32_t)left : DIRECT_PIECE;
    move->issued += inflight->size;
    move->flying++;
    one_sided_post(inflight);
    return true;
}

static uint32_t one_sided_block_size(const struct move *move)
{
    uint64_t size = staging_block_size(move->kind == MOVE_TO_DEVICE ? STAGING_PUSH : STAGING_PULL);
    uint64_t part = (move->size / PARTS_LEAST + PART_UNIT - 1) / PART_UNIT * PART_UNIT;
    uint64_t left = move->size - move->issued;

    part = part > PART_MIN ? part : PART_MIN;
    if (setup_block_size_is_auto() && part < size)
        size = part;
    size = left < size ? left : size;
    return move->box.width ? box_inflight_size(move, move->issued, (uint32_t)size) : (uint32_t)size;
}

// Begins the next block in flight. False: it has to wait.
static bool one_sided_issue_one(struct move *move)
{
    if (move->direct)
        return issue_direct(move);
    struct block *block = one_sided_take_block(move);

    if (!block)
        return false;
    struct inflight_block *inflight =
        one_sided_begin(move->kind == MOVE_TO_DEVICE ? INFLIGHT_FETCHING : INFLIGHT_COPYING, move,
                        block);
    inflight->offset = move->issued;
    inflight->size = one_sided_block_size(move);
    CUresult result = CUDA_SUCCESS;
    if (move->kind == MOVE_FROM_DEVICE)
        result = copy_from_device(inflight);
    else if (!one_sided_post(inflight) && !inflight->parts_posted)
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS) {
        move->issued += inflight->size;
        move->flying++;
        if (move->kind == MOVE_FROM_DEVICE && move->issued == move->size)
            copied_range_over(&move->copied_range);
        return true;
    }
    staging_give(block);
    one_sided_retire(inflight);
    if (result != CUDA_ERROR_NOT_READY)
        move_fail(move, result);
    return false;
}

static void look_whether_ready(struct move *move)
{
    CUresult result = one_sided_enter(move);

    if (result == CUDA_SUCCESS && move->follows)
        result = move->follows->ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    else if (result == CUDA_SUCCESS)
        result = driver.cuEventQuery(move->start);
    if (result == CUDA_SUCCESS)
        move_is_ready(move);
    else if (result != CUDA_ERROR_NOT_READY)
        move_fail(move, result);
}

static bool one_sided_issue(struct move *move)
{
    bool any = false;

    if (move->result == CUDA_SUCCESS && !move->ready) {
        look_whether_ready(move);
        any = move->ready;
    }
    if (move->result != CUDA_SUCCESS || !(move->ready || move->early))
        return any;
    while (move->issued < move->size && one_sided_issue_one(move))
        any = true;
    return any;
}

// Lets the moves that follow in the stream be queried from now on.
static void release_behind(const struct move *over)
{
    for (struct move *move = one_sided.moves; move; move = move->next)
        if (move->behind == over)
            move->behind = NULL;
    for (unsigned i = 0; i < one_sided.active_count; i++)
        if (one_sided.active[i]->behind == over)
            one_sided.active[i]->behind = NULL;
}

// The stream may not have reached a move that failed before its turn.
static void let_follow(const struct move *over)
{
    for (struct move *move = one_sided.moves; move; move = move->next) {
        if (move->follows != over)
            continue;
        move->follows = NULL;
        if (over->ready)
            move_is_ready(move);
        else
            move_fail(move, over->result);
    }
}

static bool end_moves(void)
{
    bool any = false;

    for (struct move **at = &one_sided.moves; *at;) {
        struct move *move = *at;
        bool wanted = move->finished != move->size || move->flag == FLAG_WANTED;
        if (move->flying || (move->result == CUDA_SUCCESS && wanted)) {
            at = &move->next;
            continue;
        }
        *at = move->next;
        let_follow(move);
        release_behind(move);
        if (move->start && one_sided_enter(move) == CUDA_SUCCESS)
            driver.cuEventDestroy_v2(move->start);
        semaphore_release(move->semaphore);
        if (move->direct)
            direct_release(move->direct);
        free(move);
        pthread_cond_broadcast(&one_sided.mover.ended);
        any = true;
    }
    return any;
}

// ---- signals ----

static bool is_raised(const struct inflight_block *inflight)
{
    uint32_t now = __atomic_load_n(&pinned.staging->flags[inflight->index], __ATOMIC_ACQUIRE);

    return (int32_t)(now - inflight->value) >= 0;
}

// Passes on the flags that the GPU has raised.
static bool pass_signals(void)
{
    bool any = false;

    for (unsigned i = 0; i < one_sided.active_count && atomic_load(&signals); i++) {
        struct inflight_block *inflight = one_sided.active[i];
        if (inflight->stage != INFLIGHT_SIGNALLING || inflight->posted || inflight->move ||
            !is_raised(inflight))
            continue;
        if (!post_signal(inflight))
            break;
        any = true;
    }
    return any;
}

bool signal_begin(uint32_t index, uint32_t value, struct move *behind)
{
    if (idle_count <= STAGING_BLOCKS_MAX / 2)
        return false;
    struct inflight_block *inflight = one_sided_begin(INFLIGHT_SIGNALLING, NULL, NULL);
    inflight->index = index;
    inflight->value = value;
    inflight->behind = behind;
    atomic_fetch_add(&signals, 1);
    mover_wake(&one_sided.mover);
    return true;
}

static bool raised_but_not_reported(void)
{
    for (unsigned i = 0; i < one_sided.active_count; i++)
        if (one_sided.active[i]->stage == INFLIGHT_SIGNALLING && !one_sided.active[i]->move &&
            is_raised(one_sided.active[i]))
            return true;
    return false;
}

void one_sided_deliver(void)
{
    if (!one_sided.started || !atomic_load_explicit(&signals, memory_order_acquire))
        return;
    SCOPED_LOCK(&one_sided.mover.lock);
    while (raised_but_not_reported()) {
        mover_wake(&one_sided.mover);
        pthread_cond_wait(&one_sided.mover.ended, &one_sided.mover.lock);
    }
}

bool one_sided_any_in(CUcontext context)
{
    if (!one_sided.started)
        return false;
    SCOPED_LOCK(&one_sided.mover.lock);
    for (const struct move *move = one_sided.moves; move; move = move->next)
        if (move->context == context && move->kind == MOVE_FROM_DEVICE)
            return true;
    return false;
}

// ---- the mover ----

static bool one_sided_make_progress(void)
{
    bool any = take_transfers();

    any |= advance_all();
    for (struct move *move = one_sided.moves; move; move = move->next)
        any |= one_sided_issue(move);
    for (struct move *move = one_sided.moves; move; move = move->next)
        any |= tell_flag(move);
    any |= pass_signals();
    any |= end_moves();
    return any;
}

static bool any_move(void)
{
    return one_sided.moves || one_sided.active_count;
}

static void one_sided_forget_context(CUcontext context)
{
    SCOPED_LOCK(&one_sided.mover.lock);
    for (struct move *move = one_sided.moves; move; move = move->next)
        if (move->context == context) {
            move->context = NULL;
            move_fail(move, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }
    one_sided_waits_forget(context);
    mover_forget_context(&one_sided.mover, context);
}

int one_sided_start(void)
{
    staging_prepare_reached();
    context_watch(one_sided_forget_context);
    direct_start(); // after this, because it waits for moves that must fail first
    for (idle_count = 0; idle_count < INFLIGHT_MAX; idle_count++)
        idle[idle_count] = &inflight_blocks[idle_count];
    int err = mover_start(&one_sided.mover);
    one_sided.started = !err;
    return err;
}
