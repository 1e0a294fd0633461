// SPDX-License-Identifier: BSD-3-Clause
// The table of memory models.
#include "client-lib/cuda/session/memory_model.h"

#include <stdint.h>

#include "proto/wire.h"

// Defines a row for links with that many blocks in flight. A copy from the GPU needs at least one.
#define ROW(name, blocks, ...) \
    _Static_assert((blocks) > 0 && (blocks) <= BLOCKS_IN_FLIGHT, "blocks under way"); \
    static const struct memory_model name = {.in_flight = (blocks), __VA_ARGS__}

// A byte stream has no blocks, and copies over it do not use this.
ROW(apart, 1, .sent_max = WIRE_INLINE_MAX, .replied_max = WIRE_INLINE_MAX, .row_max = SIZE_MAX);

// Beyond that, writing to a block costs less than copying the request twice (bench/paths.py).
#define SENT_MAX_SHARED (16 * 1024)
ROW(shared, 4, .sent_max = SENT_MAX_SHARED, .maps_page_locked = true, .chunk_min = 128 * 1024,
    .row_max = SIZE_MAX);

ROW(window, 4, .sent_max = SENT_MAX_SHARED, .maps_page_locked = true, .in_window = true,
    .chunk_min = 128 * 1024, .row_max = SIZE_MAX);

ROW(reached, BLOCKS_IN_FLIGHT, // several blocks arrive during one sleep
    .sent_max = WIRE_INLINE_MAX,
    .replied_max = 16 * 1024, // the box would need two steps to write to us
    .chunk_min = 256 * 1024,  // each needs two requests
    .row_min = 256,           // the device needs an operation for each row
    .row_max = WIRE_INLINE_MAX, .reaches_page_locked = true, .flags_come_late = true);

// The compiler reports a kind without a row.
const struct memory_model *memory_model_of(enum link_memory memory)
{
    switch (memory) {
    case LINK_MEMORY_APART: break;
    case LINK_MEMORY_SHARED: return &shared;
    case LINK_MEMORY_WINDOW: return &window;
    case LINK_MEMORY_REACHED: return &reached;
    }
    return &apart;
}
