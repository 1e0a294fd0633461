// SPDX-License-Identifier: BSD-3-Clause
// The table of memory models.
#include "client-lib/session/memory_model.h"

#include <stdint.h>

#include "proto/wire.h"

static const struct memory_model models[] = {
    [LINK_MEMORY_APART] =
        {
            .replied_max = WIRE_INLINE_MAX,
            .row_max = SIZE_MAX,
        },
    [LINK_MEMORY_SHARED] =
        {
            .maps_page_locked = true,
            .chunk_min = 128 * 1024,
            .in_flight = 4,
            .row_max = SIZE_MAX,
        },
    [LINK_MEMORY_WINDOW] =
        {
            .maps_page_locked = true,
            .in_window = true,
            .chunk_min = 128 * 1024,
            .in_flight = 4,
            .row_max = SIZE_MAX,
        },
    [LINK_MEMORY_REACHED] =
        {
            .reaches_page_locked = true,
            .replied_max = 16 * 1024, // the box would have to write to us in two steps
            .chunk_min = 256 * 1024,  // each takes two requests
            .in_flight = 16,          // of which several come while the program sleeps
            .row_min = 256,           // the device takes an operation for each row
            .row_max = WIRE_INLINE_MAX,
            .flags_come_late = true,
        },
};

const struct memory_model *memory_model_of(enum link_memory memory)
{
    return &models[memory];
}
