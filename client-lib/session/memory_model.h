// SPDX-License-Identifier: BSD-3-Clause
// What follows for copies from what a link can do with memory: one row for each enum link_memory. Nothing above
// asks what kind of link it is.
#ifndef RGPU_CLIENT_MEMORY_MODEL_H
#define RGPU_CLIENT_MEMORY_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/link.h"

enum { BLOCKS_IN_FLIGHT = 16 }; // of one thread's copy from the GPU, at most

struct memory_model {
    bool
        maps_page_locked; // the box maps page-locked memory, so that the GPU has it in its address space
    bool in_window;       // which is made of a window's memory, and no other file can be
    bool reaches_page_locked; // the box reads and writes it one-sidedly
    size_t
        replied_max; // copies from the GPU to ordinary memory that come inside the reply until measured, bytes
    size_t chunk_min; // of a copy through staging blocks, bytes
    // Rows of page-locked memory that one request copies, bytes; others are packed here.
    size_t row_min, row_max;
    unsigned int in_flight; // blocks that one thread's copy from the GPU has under way
    bool
        flags_come_late; // the box writes flags over a network, and nothing wakes who waits for one
};

const struct memory_model *memory_model_of(enum link_memory memory);

#endif
