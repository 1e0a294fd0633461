// SPDX-License-Identifier: BSD-3-Clause
// Copies between the GPU and the client's memory over a link that reaches it: a thread reads blocks
// from the client, or writes them there, while the GPU copies others. The client's processor has no
// part in it. The stream that a copy belongs to is held at a gate until its last byte has moved.
//
// A move takes staging blocks when its stream has come to it. One whose data was final from the
// start (the client's staging blocks) is fetched before, but only as long as blocks are left for
// moves whose turn it is: those end whatever else waits, so that none can wait for ever.
#include "daemon/worker/copy/one_sided/reach.h"

#include <errno.h>
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
#include "daemon/worker/copy/parts/gates.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/copy/one_sided/reach_blocks.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum {
    BLOCKS_KEPT = 4,
    POLL_BATCH = 16,
    DIRECT_PIECE = 1 << 20, // bytes of one operation
    DIRECT_FLYING = 8,      // of one move
};

static bool any_move(void);
static bool reach_make_progress(void);
struct reach reach = {.mover = MOVER(.name = "rgpu-reach", .has_work = any_move,
                                     .advance = reach_make_progress, .sleep = reach_sleep,
                                     .wake = reach_wake, .learns = true)};
struct reached_region reached[WIRE_REGION_LIMIT];

// All below under the lock.
static struct flight flights[FLIGHTS_MAX];
static struct flight *idle[FLIGHTS_MAX];
static unsigned idle_count;
static _Atomic unsigned signals; // of the active

static CUresult reach_enter(const struct move *move)
{
    return mover_enter(&reach.mover, move->context);
}

// The stream that copies for MOVE, whose context is current then.
static CUresult copying_stream(const struct move *move, CUstream *out)
{
    return mover_stream(&reach.mover, move->context, move->kind, out);
}

// ---- flights ----

static struct flight *reach_begin(enum flight_stage stage, struct move *move, struct block *block)
{
    struct flight *flight = idle[--idle_count];

    *flight = (struct flight){.stage = stage, .move = move, .block = block};
    reach.active[reach.active_count++] = flight;
    return flight;
}

static void reach_retire(const struct flight *flight)
{
    for (unsigned i = 0; i < reach.active_count; i++) {
        if (reach.active[i] != flight)
            continue;
        idle[idle_count++] = reach.active[i];
        memmove(&reach.active[i], &reach.active[i + 1],
                (--reach.active_count - i) * sizeof(reach.active[0]));
        return;
    }
}

void move_fail(struct move *move, CUresult result)
{
    if (move->result != CUDA_SUCCESS)
        return;
    move->result = result;
    reach.unready_failures += !move->ready;
    copied_range_over(&move->copied_range);
    session_keep_failure((int)result);
    gate_open(move->gate, move->ticket); // nothing is to wait for data that will not come
}

static bool post_signal(struct flight *flight)
{
    struct link_transfer transfer = {
        .cookie = flight,
        .write = true,
        .local = &flight->value,
        .size = sizeof(flight->value),
        .remote = reached[WIRE_REGION_STAGING].address + pinned.staging->flags_offset +
                  (uint64_t)flight->index * 4,
        .key = reached[WIRE_REGION_STAGING].key,
    };

    flight->posted = link_transfer_start(session.link, &transfer) == 0;
    return flight->posted;
}

void move_is_ready(struct move *move)
{
    move->ready = true;
    timed_path_begins(&move->way);
}

// Posts the flight's operation to the device. False: the device's queue is full. A link that is
// down is left to the thread that reads it, which ends the session.
static bool reach_post(struct flight *flight)
{
    struct link_transfer transfer = {.cookie = flight, .write = flight->stage == FLIGHT_STORING};
    uint32_t parts = box_parts(flight);

    for (; flight->parts_posted < parts; flight->parts_posted++) {
        box_part(flight, flight->parts_posted, &transfer);
        if (link_transfer_start(session.link, &transfer))
            return false;
    }
    flight->posted = true;
    if (flight->stage == FLIGHT_STORING)
        flight->move->stored += flight->size;
    return true;
}

// Queues the copy of the flight's block in *STREAM.
static CUresult copy_block(struct flight *flight, CUstream *stream)
{
    struct move *move = flight->move;
    CUdeviceptr device = move->device + flight->offset;
    CUresult result = copying_stream(move, stream);

    if (result != CUDA_SUCCESS)
        return result;
    activity_enter(move->call);
    if (move->box.width)
        result = box_copy(flight, *stream);
    else if (move->kind == MOVE_TO_DEVICE)
        result = driver.cuMemcpyHtoDAsync_v2(device, flight->block->data, flight->size, *stream);
    else
        result = driver.cuMemcpyDtoHAsync_v2(flight->block->data, device, flight->size, *stream);
    activity_leave();
    return result;
}

static CUresult copy_to_device(struct flight *flight)
{
    struct move *move = flight->move;
    CUstream stream;
    CUresult result = copy_block(flight, &stream);

    if (result != CUDA_SUCCESS)
        return result;
    move->copied += flight->size;
    if (move->copied == move->size)
        result = gate_open_from(stream, move->gate, move->ticket);
    if (result == CUDA_SUCCESS)
        result = staging_mark(flight->block, move->context, stream);
    if (move->copied == move->size)
        copied_range_over(&move->copied_range);
    return result;
}

static CUresult copy_from_device(struct flight *flight)
{
    CUstream stream;
    CUresult result = copy_block(flight, &stream);

    if (result == CUDA_SUCCESS)
        result = staging_mark(flight->block, flight->move->context, stream);
    return result;
}

// Opens the gate after the client has been notified of the data. The client may read them as soon
// as the stream has gone on.
static void open_when_told(struct move *move)
{
    if (move->kind == MOVE_FROM_DEVICE && move->finished == move->size &&
        move->result == CUDA_SUCCESS && (move->flag == FLAG_NONE || move->flag == FLAG_TOLD))
        gate_open(move->gate, move->ticket);
}

// The GPU sees what the device wrote before the stream goes on.
static void open_when_written(struct move *move)
{
    if (move->kind != MOVE_TO_DEVICE || move->finished != move->size ||
        move->result != CUDA_SUCCESS)
        return;
    CUresult result = reach_enter(move);
    if (result == CUDA_SUCCESS)
        result = direct_flush();
    if (result == CUDA_SUCCESS)
        gate_open(move->gate, move->ticket);
    else
        move_fail(move, result);
}

// Returns true if another move of the same direction is in flight, so that the device does not wait
// for the client in between.
static bool reach_goes_on(const struct move *ended)
{
    for (const struct move *move = reach.moves; move; move = move->next)
        if (move->kind == ended->kind && move->ready && move->finished < move->size)
            return true;
    return false;
}

static bool end_flight(struct flight *flight)
{
    struct move *move = flight->move;

    move->flying--;
    move->finished += flight->size;
    if (flight->block) {
        staging_give(flight->block);
        reach_block_ended(move);
    } else {
        open_when_written(move);
    }
    open_when_told(move);
    if (move->finished == move->size && move->result == CUDA_SUCCESS)
        move_path_ended(&move->way, reach_goes_on(move));
    return true;
}

static bool copy_is_over(struct flight *flight)
{
    CUresult result = reach_enter(flight->move);

    if (result == CUDA_SUCCESS && !staging_done(flight->block, &result))
        return false;
    if (result != CUDA_SUCCESS)
        move_fail(flight->move, result);
    return true;
}

// A flag that follows the move's data on the same queue cannot overtake it.
static bool tell_flag(struct move *move)
{
    if (move->flag != FLAG_WANTED || move->stored != move->size || !idle_count ||
        move->result != CUDA_SUCCESS)
        return false;
    struct flight *flight = reach_begin(FLIGHT_SIGNALLING, move, NULL);
    flight->index = move->flag_index;
    flight->value = move->flag_value;
    if (!post_signal(flight)) {
        reach_retire(flight);
        return false;
    }
    move->flag = FLAG_FLYING;
    move->flying++;
    return true;
}

// Takes an in-flight block one step further, and sets *ANY if it made progress. Returns true if the
// block is over.
static bool reach_advance(struct flight *flight, bool *any)
{
    struct move *move = flight->move;
    CUresult result;

    switch (flight->stage) {
    case FLIGHT_SIGNALLING: return false; // the device tells
    case FLIGHT_FETCHING:
        if (!flight->posted && reach_post(flight))
            *any = true;
        return false;
    case FLIGHT_FETCHED:
        if (move->result != CUDA_SUCCESS)
            return end_flight(flight);
        if (!move->ready)
            return false;
        *any = true;
        flight->stage = FLIGHT_COPYING;
        result = copy_to_device(flight);
        if (result != CUDA_SUCCESS)
            move_fail(move, result);
        return result != CUDA_SUCCESS && end_flight(flight);
    case FLIGHT_COPYING:
        if (!copy_is_over(flight))
            return false;
        *any = true;
        if (move->kind == MOVE_TO_DEVICE || move->result != CUDA_SUCCESS)
            return end_flight(flight);
        flight->stage = FLIGHT_STORING;
        reach_post(flight);
        return false;
    case FLIGHT_STORING:
        if (!flight->posted && reach_post(flight))
            *any = true;
        return false;
    }
    return false;
}

static bool advance_all(void)
{
    bool any = false;
    unsigned kept = 0;

    for (unsigned i = 0; i < reach.active_count; i++) {
        if (reach_advance(reach.active[i], &any)) {
            idle[idle_count++] = reach.active[i];
            any = true;
        } else {
            reach.active[kept++] = reach.active[i];
        }
    }
    reach.active_count = kept;
    return any;
}

// Takes the transfers that the device has completed. Returns true if there were any.
static bool take_transfers(void)
{
    void *cookies[POLL_BATCH];
    int count = link_transfer_poll(session.link, cookies, POLL_BATCH);

    for (int i = 0; i < count; i++) {
        struct flight *flight = cookies[i];
        if (flight->stage != FLIGHT_SIGNALLING && ++flight->parts_over < box_parts(flight))
            continue;
        if (flight->stage == FLIGHT_FETCHING && flight->block) {
            flight->stage = FLIGHT_FETCHED;
            continue;
        }
        if (flight->stage == FLIGHT_STORING || flight->stage == FLIGHT_FETCHING) {
            end_flight(flight);
        } else if (flight->move) {
            flight->move->flag = FLAG_TOLD;
            flight->move->flying--;
            open_when_told(flight->move);
        } else {
            atomic_fetch_sub(&signals, 1);
        }
        reach_retire(flight);
    }
    if (count > 0)
        pthread_cond_broadcast(&reach.mover.ended);
    return count > 0;
}

// ---- moves ----

static struct block *reach_take_block(const struct move *move)
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
    struct flight *flight =
        reach_begin(move->kind == MOVE_TO_DEVICE ? FLIGHT_FETCHING : FLIGHT_STORING, move, NULL);
    flight->offset = move->issued;
    flight->size = left < DIRECT_PIECE ? (uint32_t)left : DIRECT_PIECE;
    move->issued += flight->size;
    move->flying++;
    reach_post(flight);
    return true;
}

// Begins the next flight. False: it has to wait.
static bool reach_issue_one(struct move *move)
{
    if (move->direct)
        return issue_direct(move);
    struct block *block = reach_blocks_ready(move) ? reach_take_block(move) : NULL;

    if (!block)
        return false;
    struct flight *flight =
        reach_begin(move->kind == MOVE_TO_DEVICE ? FLIGHT_FETCHING : FLIGHT_COPYING, move, block);
    flight->offset = move->issued;
    flight->size = reach_block_size(move);
    CUresult result = CUDA_SUCCESS;
    if (move->kind == MOVE_FROM_DEVICE)
        result = copy_from_device(flight);
    else if (!reach_post(flight) && !flight->parts_posted)
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS) {
        reach_block_began(move);
        move->issued += flight->size;
        move->flying++;
        if (move->kind == MOVE_FROM_DEVICE && move->issued == move->size)
            copied_range_over(&move->copied_range);
        return true;
    }
    staging_give(block);
    reach_retire(flight);
    if (result != CUDA_ERROR_NOT_READY)
        move_fail(move, result);
    return false;
}

static void look_whether_ready(struct move *move)
{
    CUresult result = reach_enter(move);

    if (result == CUDA_SUCCESS && move->follows)
        result = move->follows->ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    else if (result == CUDA_SUCCESS)
        result = driver.cuEventQuery(move->start);
    if (result == CUDA_SUCCESS)
        move_is_ready(move);
    else if (result != CUDA_ERROR_NOT_READY)
        move_fail(move, result);
}

static bool reach_issue(struct move *move)
{
    bool any = false;

    if (move->result == CUDA_SUCCESS && !move->ready) {
        look_whether_ready(move);
        any = move->ready;
    }
    if (move->result != CUDA_SUCCESS || !(move->ready || move->early))
        return any;
    while (move->issued < move->size && reach_issue_one(move))
        any = true;
    return any;
}

// Lets the moves that follow in the stream be queried from now on.
static void release_behind(const struct move *over)
{
    for (struct move *move = reach.moves; move; move = move->next)
        if (move->behind == over)
            move->behind = NULL;
    for (unsigned i = 0; i < reach.active_count; i++)
        if (reach.active[i]->behind == over)
            reach.active[i]->behind = NULL;
}

// The stream may not have reached a move that failed before its turn.
static void let_follow(const struct move *over)
{
    for (struct move *move = reach.moves; move; move = move->next) {
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

    for (struct move **at = &reach.moves; *at;) {
        struct move *move = *at;
        bool wanted = move->finished != move->size || move->flag == FLAG_WANTED;
        if (move->flying || (move->result == CUDA_SUCCESS && wanted)) {
            at = &move->next;
            continue;
        }
        *at = move->next;
        let_follow(move);
        release_behind(move);
        reach_blocks_forget(move);
        if (move->start && reach_enter(move) == CUDA_SUCCESS)
            driver.cuEventDestroy_v2(move->start);
        gate_release(move->gate);
        if (move->direct)
            direct_release(move->direct);
        free(move);
        pthread_cond_broadcast(&reach.mover.ended);
        any = true;
    }
    return any;
}

// ---- signals ----

static bool is_raised(const struct flight *flight)
{
    uint32_t now = __atomic_load_n(&pinned.staging->flags[flight->index], __ATOMIC_ACQUIRE);

    return (int32_t)(now - flight->value) >= 0;
}

// Passes on the flags that the GPU has raised.
static bool pass_signals(void)
{
    bool any = false;

    for (unsigned i = 0; i < reach.active_count && atomic_load(&signals); i++) {
        struct flight *flight = reach.active[i];
        if (flight->stage != FLIGHT_SIGNALLING || flight->posted || flight->move ||
            !is_raised(flight))
            continue;
        if (!post_signal(flight))
            break;
        any = true;
    }
    return any;
}

bool signal_begin(uint32_t index, uint32_t value, struct move *behind)
{
    if (idle_count <= STAGING_BLOCKS_MAX / 2)
        return false;
    struct flight *flight = reach_begin(FLIGHT_SIGNALLING, NULL, NULL);
    flight->index = index;
    flight->value = value;
    flight->behind = behind;
    atomic_fetch_add(&signals, 1);
    mover_wake(&reach.mover);
    return true;
}

static bool raised_but_not_told(void)
{
    for (unsigned i = 0; i < reach.active_count; i++)
        if (reach.active[i]->stage == FLIGHT_SIGNALLING && !reach.active[i]->move &&
            is_raised(reach.active[i]))
            return true;
    return false;
}

void reach_deliver(void)
{
    if (!reach.started || !atomic_load_explicit(&signals, memory_order_acquire))
        return;
    SCOPED_LOCK(&reach.mover.lock);
    while (raised_but_not_told()) {
        mover_wake(&reach.mover);
        pthread_cond_wait(&reach.mover.ended, &reach.mover.lock);
    }
}

// ---- the mover ----

static bool reach_make_progress(void)
{
    bool any = take_transfers();

    any |= advance_all();
    for (struct move *move = reach.moves; move; move = move->next)
        any |= reach_issue(move);
    for (struct move *move = reach.moves; move; move = move->next)
        any |= tell_flag(move);
    any |= pass_signals();
    any |= end_moves();
    return any;
}

static bool any_move(void)
{
    return reach.moves || reach.active_count;
}

static void reach_forget_context(CUcontext context)
{
    SCOPED_LOCK(&reach.mover.lock);
    for (struct move *move = reach.moves; move; move = move->next)
        if (move->context == context) {
            move->context = NULL;
            move_fail(move, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }
    reach_waits_forget(context);
    mover_forget_context(&reach.mover, context);
}

int reach_start(void)
{
    staging_prepare_reached();
    move_paths_start();
    context_watch(reach_forget_context);
    direct_start(); // after this, because it waits for moves that must fail first
    for (idle_count = 0; idle_count < FLIGHTS_MAX; idle_count++)
        idle[idle_count] = &flights[idle_count];
    int err = mover_start(&reach.mover);
    reach.started = !err;
    return err;
}
