// SPDX-License-Identifier: BSD-3-Clause
// The sizes of the blocks that moves are cut into: as set, or with block_size = auto measured on the
// first large moves of the session, for each direction.
//
// A trial is a stretch of large moves, from a direction that is idle to one that is idle again; it
// uses one size of block, and nothing else may be under way meanwhile for it to count. What is not
// part of a trial uses the usual size until there is a better one.
#include "worker/move/one_sided/reach_blocks.h"

#include "common/clock.h"
#include "common/log.h"
#include "proto/wire.h"
#include "worker/move/one_sided/block_tuner.h"
#include "worker/move/one_sided/reach.h"
#include "worker/setup.h"

enum {
    LARGE = 4 << 20,       // moves of which are measured
    PIECES = 4,            // into which a move is cut at least, with sizes that are chosen here,
    PIECE_MIN = 128 << 10, // unless they would be smaller
};

static struct reach_direction {
    struct block_tuner tuner;
    unsigned flying;           // blocks under way
    bool running;              // in the middle of a stretch
    uint64_t began_us;         // of it
    uint64_t issued, finished; // bytes of it
    bool spoilt;               // something else went on
    bool full;                 // no more blocks before those under way are over
} directions[2];               // by move_kind

static enum staging_use use_of(const struct move *move)
{
    return move->kind == MOVE_TO_DEVICE ? STAGING_PUSH : STAGING_PULL;
}

static bool is_trial(const struct reach_direction *direction, const struct move *move)
{
    return !direction->tuner.settled && move->ready && move->size >= LARGE;
}

void reach_blocks_start(void)
{
    if (!setup_block_size_is_auto())
        return;
    block_tuner_start(&directions[MOVE_TO_DEVICE].tuner, WIRE_BLOCK_SIZE,
                      staging_room(STAGING_PUSH));
    block_tuner_start(&directions[MOVE_FROM_DEVICE].tuner, WIRE_BLOCK_SIZE,
                      staging_room(STAGING_PULL));
}

bool reach_blocks_ready(const struct move *move)
{
    struct reach_direction *direction = &directions[move->kind];

    if (!setup_block_size_is_auto())
        return true;
    if (direction->flying || direction->running)
        return !direction->full;
    staging_carve(use_of(move), is_trial(direction, move) ? block_tuner_size(&direction->tuner)
                                                          : block_tuner_best(&direction->tuner));
    return true;
}

uint32_t reach_block_size(const struct move *move)
{
    uint64_t size = staging_block_size(use_of(move)), left = move->size - move->issued;

    if (setup_block_size_is_auto()) {
        uint64_t piece = (move->size / PIECES + TUNER_SIZE_MIN - 1) / TUNER_SIZE_MIN *
                         TUNER_SIZE_MIN;
        if (piece < PIECE_MIN)
            piece = PIECE_MIN;
        size = piece < size ? piece : size;
    }
    size = left < size ? left : size;
    return move->box.width ? box_flight_size(move, move->issued, (uint32_t)size) : (uint32_t)size;
}

void reach_block_began(const struct move *move, uint32_t size)
{
    struct reach_direction *direction = &directions[move->kind], *other = &directions[!move->kind];

    if (!setup_block_size_is_auto())
        return;
    if (!direction->flying++ && (!direction->running || !move->issued)) {
        direction->running = true;
        direction->began_us = clock_us();
        direction->issued = direction->finished = 0;
        direction->spoilt = false;
    }
    direction->spoilt |= other->flying || !is_trial(direction, move);
    other->spoilt = true;
    direction->issued += size;
    direction->full = !direction->spoilt && direction->issued >= TUNER_TRIAL;
}

static void end_trial(struct reach_direction *direction)
{
    char rates[160];

    block_tuner_take(&direction->tuner, direction->finished, clock_us() - direction->began_us);
    if (!direction->tuner.settled)
        return;
    block_tuner_describe(&direction->tuner, rates, sizeof(rates));
    log_info("block size %s the GPU: %uK, measured MB/s: %s",
             direction == &directions[MOVE_TO_DEVICE] ? "to" : "from",
             block_tuner_best(&direction->tuner) / 1024, rates);
}

void reach_block_ended(const struct move *move, uint32_t size)
{
    struct reach_direction *direction = &directions[move->kind];

    if (!setup_block_size_is_auto())
        return;
    direction->finished += size;
    bool failed = move->result != CUDA_SUCCESS;
    if (--direction->flying || !(direction->full || failed || move->issued == move->size))
        return;
    direction->running = direction->full = false;
    if (!direction->spoilt && !failed && direction->finished >= LARGE)
        end_trial(direction);
}
