// SPDX-License-Identifier: BSD-3-Clause
// Physical memory of a GPU by a handle of the client (mappings.c).
#ifndef RGPU_WORKER_BOX_MEMORY_H
#define RGPU_WORKER_BOX_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

struct box_memory {
    CUmemGenericAllocationHandle handle; // the driver's
    uint64_t name; // the client's handle; 0: it may stand for other memory now
    uint64_t size;
    uint64_t charge; // bytes of the budget; 0: another process has made it
    int device;
    bool held; // by the client
    unsigned mappings;
    unsigned arrays; // into which it has been mapped
};

// Binds memory that the driver has given to the client's handle; NULL with the failure noted, and
// given back.
struct box_memory *box_memory_adopt(struct serve *serve, CUmemGenericAllocationHandle handle,
                                    uint64_t name, uint64_t size, int device, uint64_t charge);
// Ends what was just adopted.
void box_memory_end(struct box_memory *memory);
// Returns the driver's handle of memory for mapping into an array; 0 after noting the failure. From
// then on the memory exists and is charged until the array ends.
CUmemGenericAllocationHandle box_memory_of_array(struct serve *serve, uint64_t name,
                                                 const void *array);
void box_memory_array_ends(const void *array);
uint64_t box_memory_granularity(int device); // of what can be shared

#endif
