// SPDX-License-Identifier: BSD-3-Clause
// Physical memory of a GPU, with a handle of the client (cuMemCreate).
#ifndef RGPU_WORKER_BOX_MEMORY_H
#define RGPU_WORKER_BOX_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

struct box_memory {
    CUmemGenericAllocationHandle handle; // handle of the driver
    uint64_t name;                       // handle of the client; 0: the client may have reused it
    uint64_t size;
    uint64_t charge; // bytes that count against the budget; 0: created by another process
    int device;
    bool held; // the client has not released it
    unsigned mappings;
    unsigned arrays; // number of arrays into which it was mapped
};

// Binds memory of the driver to the client's handle. On failure releases the memory, notes the
// error and returns NULL.
struct box_memory *box_memory_adopt(struct serve *serve, CUmemGenericAllocationHandle handle,
                                    uint64_t name, uint64_t size, int device, uint64_t charge);
// Releases memory that was just adopted.
void box_memory_end(struct box_memory *memory);
// Returns the driver's handle, for mapping into ARRAY; 0 with an error noted. The memory exists and
// counts until the array ends.
CUmemGenericAllocationHandle box_memory_of_array(struct serve *serve, uint64_t name,
                                                 const void *array);
void box_memory_array_ends(const void *array);
uint64_t box_memory_granularity(int device); // granularity of memory that can be shared, in bytes

#endif
