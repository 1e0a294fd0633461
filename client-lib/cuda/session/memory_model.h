// SPDX-License-Identifier: BSD-3-Clause
// Describes how copies use each kind of link memory: one row for each enum link_memory. No layer
// above tests the kind of link.
#ifndef RGPU_CLIENT_MEMORY_MODEL_H
#define RGPU_CLIENT_MEMORY_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/link/link.h"

enum { BLOCKS_IN_FLIGHT = 16 }; // limit for one thread's copy from the GPU

struct memory_model {
    bool maps_page_locked;    // the box maps page-locked memory into the GPU's address space
    bool in_window;           // page-locked memory must come from the window
    bool reaches_page_locked; // the box reaches page-locked memory through RDMA
    // Limits in bytes for copies inside the request, and of ordinary memory inside the reply.
    size_t sent_max, replied_max;
    size_t chunk_min; // of a copy through staging blocks, in bytes
    // Length of rows of page-locked memory that one request copies, in bytes; other rows are packed
    // here.
    size_t row_min, row_max;
    unsigned int in_flight; // blocks in flight of one thread's copy from the GPU
    bool flags_come_late;   // the box writes flags over a network, so a waiter is not woken
};

const struct memory_model *memory_model_of(enum link_memory memory);

#endif
