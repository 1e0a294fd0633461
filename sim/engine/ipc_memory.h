// SPDX-License-Identifier: BSD-3-Clause
// Memory shared with other processes (cuIpcGetMemHandle, cuIpcOpenMemHandle).
#ifndef SIM_IPC_MEMORY_H
#define SIM_IPC_MEMORY_H

#include "sim/engine/memory.h"

// Content of a CUipcMemHandle.
struct ipc_handle {
    uint64_t magic;
    uint64_t offset, secret; // offset and secret of the span (shared_state.h) in the shared file
    uint64_t span_size;
    uint64_t at, size; // offset and size of the allocation in the span
    int32_t ordinal, pid;
};

// Exports an allocation. Returns NOT_SUPPORTED if some but not all of its pages are already shared.
CUresult ipc_memory_share(const struct memory_range *range, struct ipc_handle *handle);
// Opens exported memory in a context, and in POOL unless that is NULL. Opening the same memory
// again returns the same address. Returns INVALID_HANDLE.
CUresult ipc_memory_open(struct context *context, struct memory_pool *pool,
                         const struct ipc_handle *handle, CUdeviceptr *address);

// Must be called before an allocation is freed. OWN_PAGES: its pages contain no other allocation.
void ipc_memory_freed(uint64_t base, size_t size, bool own_pages);
// Must be called when an import is removed from the table of ranges.
void ipc_memory_closed(struct device *device, uint64_t base);

#endif
