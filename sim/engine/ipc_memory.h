// SPDX-License-Identifier: BSD-3-Clause
// Exports memory to other processes and imports theirs (ipc_memory.c).
#ifndef SIM_IPC_MEMORY_H
#define SIM_IPC_MEMORY_H

#include "sim/engine/memory.h"

// The data that a process needs to open memory of another process.
struct ipc_handle {
    uint64_t magic;
    uint64_t offset, secret; // position and secret of the span in the file
    uint64_t span_size;
    uint64_t at, size; // position and size of the allocation in the span
    int32_t ordinal, pid;
};

// Exports an allocation. Returns NOT_SUPPORTED if only a part of its pages is shared already.
CUresult ipc_memory_share(const struct memory_range *range, struct ipc_handle *handle);
// Opens exported memory in a context, as memory of POOL unless that is NULL. Opening it again
// returns the same address. Returns INVALID_HANDLE.
CUresult ipc_memory_open(struct context *context, struct memory_pool *pool,
                         const struct ipc_handle *handle, CUdeviceptr *address);

// Called before an allocation is freed. OWN_PAGES: no other allocation lies in its pages.
void ipc_memory_freed(uint64_t base, size_t size, bool own_pages);
// Called when an import has left the table of ranges, with its last use or its context.
void ipc_memory_closed(struct device *device, uint64_t base);

#endif
