// SPDX-License-Identifier: BSD-3-Clause
// Chooses the sizes of the blocks that moves are cut into: as set, or with block_size = auto by the
// path of the move. The memory of a direction is cut anew when none of its blocks is in flight. A
// move that needs other blocks than there are drains them if it is to measure that size or if this
// has not been done for long; otherwise it takes the present ones.
#include "daemon/worker/copy/one_sided/one_sided_blocks.h"

#include "proto/wire.h"
#include "daemon/worker/copy/one_sided/one_sided.h"
#include "daemon/worker/core/setup.h"

enum {
    SMALL = 128 << 10,
    LARGE = 2 << 20,
    PIECES = 4,        // into which a move is cut at least, with sizes that are chosen here,
    PIECE_MIN = SMALL, // unless they would be smaller
    SIZE_MIN = 64 << 10,
    BLOCKS_LEAST = 3,   // of which the memory of a direction consists
    MOVES_BETWEEN = 16, // after blocks have been cut anew
};

static struct one_sided_direction {
    unsigned flying;         // blocks under way
    enum path blocks;        // those of which path there are; 0: none have been cut
    unsigned moves;          // that have begun since they were cut
    const struct move *next; // for which they drain; NULL: none
} directions[2];             // by move_kind

static enum staging_use one_sided_blocks_use_of(enum move_kind kind)
{
    return kind == MOVE_TO_DEVICE ? STAGING_PUSH : STAGING_PULL;
}

static uint32_t one_sided_blocks_size_of(enum move_kind kind, enum path path)
{
    size_t room = staging_room(one_sided_blocks_use_of(kind));
    uint32_t size = path == PATH_SMALL_BLOCKS   ? SMALL
                    : path == PATH_LARGE_BLOCKS ? LARGE
                                                : WIRE_BLOCK_SIZE;

    while (size > SIZE_MIN && size * BLOCKS_LEAST > room)
        size /= 2;
    return size;
}

static uint64_t one_sided_blocks_piece_of(uint64_t size)
{
    uint64_t piece = (size / PIECES + SIZE_MIN - 1) / SIZE_MIN * SIZE_MIN;

    return piece < PIECE_MIN ? PIECE_MIN : piece;
}

unsigned one_sided_blocks_paths(enum move_kind kind, uint64_t size)
{
    unsigned paths = PATH_BIT(PATH_ONE_SIDED);

    if (!setup_block_size_is_auto())
        return paths;
    uint32_t usual = one_sided_blocks_size_of(kind, PATH_ONE_SIDED);
    if (one_sided_blocks_piece_of(size) > SMALL && usual > SMALL)
        paths |= PATH_BIT(PATH_SMALL_BLOCKS);
    if (one_sided_blocks_piece_of(size) > usual &&
        one_sided_blocks_size_of(kind, PATH_LARGE_BLOCKS) == LARGE)
        paths |= PATH_BIT(PATH_LARGE_BLOCKS);
    return paths;
}

// Blocks of a move whose stream has not come to it stay until then, and so may be behind what waits
// for them.
static bool drain_by_themselves(enum move_kind kind)
{
    for (const struct move *move = one_sided.moves; move; move = move->next)
        if (move->kind == kind && !move->direct && !move->ready && move->flying)
            return false;
    return true;
}

bool one_sided_blocks_ready(struct move *move)
{
    struct one_sided_direction *direction = &directions[move->kind];

    if (!setup_block_size_is_auto())
        return true;
    if (direction->next && direction->next != move)
        return false;
    if (move->issued || direction->blocks == move->way.path)
        return true;
    if (!direction->flying && staging_carve(one_sided_blocks_use_of(move->kind),
                                            one_sided_blocks_size_of(move->kind, move->way.path))) {
        direction->blocks = move->way.path;
        direction->moves = 0;
        direction->next = NULL;
        return true;
    }
    if (direction->next)
        return false;
    if (move->ready && (move->way.open || direction->moves >= MOVES_BETWEEN) &&
        drain_by_themselves(move->kind)) {
        direction->next = move;
        return false;
    }
    move->way.path = direction->blocks;
    return true;
}

uint32_t one_sided_block_size(const struct move *move)
{
    uint64_t size = staging_block_size(one_sided_blocks_use_of(move->kind)),
             left = move->size - move->issued;

    if (setup_block_size_is_auto() && one_sided_blocks_piece_of(move->size) < size)
        size = one_sided_blocks_piece_of(move->size);
    size = left < size ? left : size;
    return move->box.width ? box_inflight_size(move, move->issued, (uint32_t)size) : (uint32_t)size;
}

void one_sided_block_began(const struct move *move)
{
    struct one_sided_direction *direction = &directions[move->kind];

    direction->flying++;
    direction->moves += !move->issued;
}

void one_sided_block_ended(const struct move *move)
{
    directions[move->kind].flying--;
}

void one_sided_blocks_forget(const struct move *move)
{
    struct one_sided_direction *direction = &directions[move->kind];

    if (direction->next == move)
        direction->next = NULL;
}
