// SPDX-License-Identifier: BSD-3-Clause
// The table of memory models.
#include "client-lib/session/memory_model.h"

#include <stdint.h>

#include "proto/wire.h"

// A row with so many blocks under way. A copy from the GPU that may have none would bring nothing.
#define ROW(name, blocks, ...) \
    _Static_assert((blocks) > 0 && (blocks) <= BLOCKS_IN_FLIGHT, "blocks under way"); \
    static const struct memory_model name = {.in_flight = (blocks), __VA_ARGS__}

// Over a byte stream there are no blocks, and copies do not ask.
ROW(apart, 1, .replied_max = WIRE_INLINE_MAX, .row_max = SIZE_MAX);

ROW(shared, 4, .maps_page_locked = true, .chunk_min = 128 * 1024, .row_max = SIZE_MAX);

ROW(window, 4, .maps_page_locked = true, .in_window = true, .chunk_min = 128 * 1024,
    .row_max = SIZE_MAX);

ROW(reached, BLOCKS_IN_FLIGHT, // of which several come while the program sleeps
    .replied_max = 16 * 1024,  // the box would have to write to us in two steps
    .chunk_min = 256 * 1024,   // each takes two requests
    .row_min = 256,            // the device takes an operation for each row
    .row_max = WIRE_INLINE_MAX, .reaches_page_locked = true, .flags_come_late = true);

// The compiler tells of a kind without a row.
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
