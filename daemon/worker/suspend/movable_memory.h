// SPDX-License-Identifier: BSD-3-Clause
// Device memory that the worker itself can move to the host and back at the speed of the bus
// (memory_image.h). The driver's checkpoint moves memory of cuMemAlloc at a tenth of that.
// Therefore large ordinary allocations of the program are physical memory that the worker maps at
// addresses which it reserves. The program sees no difference. Thread-safe.
#ifndef RGPU_WORKER_MOVABLE_MEMORY_H
#define RGPU_WORKER_MOVABLE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker_driver.h"

// Returns true if an allocation of SIZE bytes should be movable. It should not if the session has
// several GPUs, is a client of MPS, or shows memory to other boxes, if the driver cannot suspend
// processes, or if SIZE is less than a page of the GPU.
bool movable_suits(int device, uint64_t size);
// Allocates as cuMemAlloc does in CONTEXT, the current context. Returns its errors.
CUresult movable_allocate(int device, uint64_t size, CUcontext context, CUdeviceptr *address);
// Returns true if movable memory starts at ADDRESS.
bool movable_is(CUdeviceptr address);
// Frees as cuMemFree does: waits for the GPU first. On failure the memory stays.
CUresult movable_free(CUdeviceptr address);
// Frees all memory that was allocated in CONTEXT, which has ended.
void movable_context_ended(CUcontext context);

// Returns a descriptor of the memory at ADDRESS for another process. The caller closes it.
CUresult movable_export(CUdeviceptr address, int *fd);
// Maps such memory of another process.
CUresult movable_import(int fd, int device, uint64_t size, CUcontext context, CUdeviceptr *address);

// ---- for memory_image.c, while no request is executed ----

struct movable {
    CUdeviceptr address;
    uint64_t size;                       // bytes, a multiple of the GPU's granularity
    CUmemGenericAllocationHandle handle; // 0: no memory is mapped
    int device;
    CUcontext context;
    bool imported; // another process has allocated it
    bool away;     // the content is in the image
    struct movable *next;
};

// Lists the allocations of this process. The caller frees the list, which is valid until a request
// is executed. NULL: there are none, or memory is exhausted.
struct movable **movable_list(size_t *count);
// Unmap and release, or create and map, the physical memory at an address that stays reserved.
CUresult movable_take_down(struct movable *memory);
CUresult movable_put_up(struct movable *memory);
uint64_t movable_bytes(void); // of all allocations of this process

#endif
