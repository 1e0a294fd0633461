// SPDX-License-Identifier: BSD-3-Clause
// Describes how copies use each kind of link memory: one row for each enum link_memory. Higher
// layers test the members of the row, never the kind of link.
#ifndef RGPU_CLIENT_MEMORY_MODEL_H
#define RGPU_CLIENT_MEMORY_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/link/link.h"

enum { BLOCKS_IN_FLIGHT = 16 }; // maximum of in_flight

struct memory_model {
    bool maps_page_locked; // the box maps page-locked memory into the GPU's address space
    bool in_window;        // page-locked memory must be allocated in the virtual machine's window
    bool reaches_page_locked; // the box reaches page-locked memory through RDMA
    // Largest copy in bytes that the request itself carries to the GPU, and largest copy to
    // ordinary memory that the reply carries from the GPU.
    size_t sent_max, replied_max;
    size_t chunk_min; // minimum size of a chunk of a copy through staging blocks, in bytes
    // If the rows of a rectangle in page-locked memory have a length in this range (bytes), one
    // request copies them; else this process packs them into blocks.
    size_t row_min, row_max;
    unsigned int in_flight; // number of in-flight blocks of one thread's copy from the GPU
    bool flags_come_late;   // the box writes flags over a network, which wakes no waiting thread
};

// Returns the constant row of MEMORY.
const struct memory_model *memory_model_of(enum link_memory memory);

#endif
