// SPDX-License-Identifier: BSD-3-Clause
// What becomes of memory that other processes have opened, and of what is opened here (ipc_memory.c).
#ifndef SIM_IPC_MEMORY_H
#define SIM_IPC_MEMORY_H

#include "sim/memory.h"

// What a process needs to open memory of another.
struct ipc_handle {
    uint64_t magic;
    uint64_t offset, secret; // of the span in the file
    uint64_t span_size;
    uint64_t at, size; // of the allocation in the span
    int32_t ordinal, pid;
};

// Makes what others can open; NOT_SUPPORTED: part of its pages is shared already.
CUresult ipc_memory_share(const struct memory_range *range, struct ipc_handle *handle);
// Opens it in a context, as memory of POOL if that is not NULL; once more it is where it was. INVALID_HANDLE.
CUresult ipc_memory_open(struct context *context, struct memory_pool *pool,
                         const struct ipc_handle *handle, CUdeviceptr *address);

// An allocation is about to be given back. OWN_PAGES: no other lies in its pages.
void ipc_memory_freed(uint64_t base, size_t size, bool own_pages);
// An import has left the table of ranges, with its last use or its context.
void ipc_memory_closed(struct device *device, uint64_t base);

#endif
