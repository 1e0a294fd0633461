// SPDX-License-Identifier: BSD-3-Clause
// Every range of memory that the software GPU knows: device allocations, module variables, pool
// allocations and pinned host memory, in one table ordered by address. Device memory is memory of
// this process at its real address.
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "sim/context.h"

struct memory_pool;
struct sim_physical;

enum memory_kind {
    MEMORY_DEVICE,   // cuMemAlloc
    MEMORY_MANAGED,  // cuMemAllocManaged
    MEMORY_POOL,     // cuMemAllocAsync
    MEMORY_VARIABLE, // of a module
    MEMORY_MANAGED_VARIABLE,
    MEMORY_HEAP,       // malloc in a kernel
    MEMORY_HOST,       // cuMemHostAlloc
    MEMORY_REGISTERED, // cuMemHostRegister
    MEMORY_MAPPED,     // cuMemMap: of no context
    MEMORY_GRAPH,      // of an allocation node: there while the graphs say so
    MEMORY_IMPORTED,   // cuIpcOpenMemHandle, cuMemPoolImportPointer
    MEMORY_ARRAY,      // known by handle only, and freed with its object
};

struct memory_range {
    uint64_t base;
    size_t size; // as asked for
    enum memory_kind kind;
    unsigned flags;          // of host memory, as the program gave them
    struct context *context; // owner; not counted, since the range goes with it
    uint64_t owner;          // handle of the owner, to reach it from a copy of this
    struct device *device;
    struct memory_pool *pool; // of MEMORY_POOL, and of what is imported from one; not counted
    size_t charged;           // bytes of the device's budget
    uint64_t id;              // unique for the process
    bool sync_copies;         // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
    bool leaving;             // cuMemFreeAsync has been asked for it, and calls know it no more
    // Of MEMORY_MAPPED.
    unsigned handle_types;
    struct sim_physical *physical;             // counted
    CUmemAccess_flags access[SIM_MAX_DEVICES]; // of each device
    // Of MEMORY_GRAPH.
    bool open;  // kernels may touch it
    bool shown; // calls know it
};

static inline bool memory_is_host(const struct memory_range *range)
{
    return range->kind == MEMORY_HOST || range->kind == MEMORY_REGISTERED;
}

// The host uses it by the same address. It has pages of its own.
static inline bool memory_is_managed(const struct memory_range *range)
{
    return range->kind == MEMORY_MANAGED || range->kind == MEMORY_MANAGED_VARIABLE;
}

// Bytes that an allocation takes of the budget.
size_t memory_rounded(size_t size);

// Reserves the device's addresses: before its first context. OUT_OF_MEMORY.
CUresult arena_prepare(struct device *device);

// Allocates device memory for a context. `pool` is NULL unless the kind is MEMORY_POOL; then the
// pool pays, otherwise the device is charged. OUT_OF_MEMORY.
CUresult memory_allocate(struct context *context, size_t size, enum memory_kind kind,
                         struct memory_pool *pool, uint64_t *address);

// Forgets the range that starts at `base` if `accept` (may be NULL) says so, and frees device
// memory. The old description in *old. INVALID_VALUE: none starts there.
CUresult memory_release(uint64_t base, bool (*accept)(const struct memory_range *range),
                        struct memory_range *old);

// Adds a range of host memory. HOST_MEMORY_ALREADY_REGISTERED when it overlaps another one.
CUresult memory_add_host(struct context *context, void *start, size_t size, enum memory_kind kind,
                         unsigned flags);

// The range that holds `address`: a copy of its description.
bool memory_lookup(uint64_t address, struct memory_range *out);
// The same, when all of [address, address + size) lies in it, or in mappings that follow each other without
// a gap and are open to a device.
bool memory_lookup_span(uint64_t address, size_t size, struct memory_range *out);
// Takes the memory of a pool that starts at BASE away from calls, or gives it back to them.
void memory_set_leaving(uint64_t base, bool leaving);
void memory_set_sync_copies(uint64_t address, bool sync);

// Enters memory of another process, which ipc_memory.c has mapped and unmaps.
// POOL: of another process as well; NULL: it is of none.
CUresult memory_add_import(struct context *context, uint64_t base, size_t size,
                           struct memory_pool *pool);

// ---- mappings (address_ranges.c) ----

// Enters one of SIZE bytes; INVALID_VALUE where something is there, as the driver has it.
CUresult memory_add_mapping(uint64_t base, size_t size, struct sim_physical *physical);
// Calls VISIT, if any, for the mappings of [address, address + size), which are whole ones without a gap, under
// the table's lock. INVALID_VALUE: they are not, and it was not called.
CUresult memory_each_mapping(uint64_t address, size_t size,
                             void (*visit)(void *argument, struct memory_range *range),
                             void *argument);
// Takes the mappings of [address, address + size) out of the table. INVALID_VALUE as above.
CUresult memory_remove_mappings(uint64_t address, size_t size,
                                void (*dispose_of)(struct memory_range *range));
// Whether anything is mapped there.
bool memory_any_mapping(uint64_t address, size_t size);

// For kernels of a context (`argument`): which range it may touch holds the address.
bool memory_find_for_kernel(void *argument, uint64_t address, uint64_t *base, uint64_t *end);

// malloc and free in kernels of a context; 0 when the heap is full.
uint64_t memory_heap_allocate(void *argument, size_t size);
void memory_heap_release(void *argument, uint64_t address);

// Waits for the work of the context that owns a range, of which `range` is a copy.
CUresult memory_synchronize_owner(const struct memory_range *range);

// Memory of graphs has an address from the beginning, belongs to no context, and is charged by the
// graphs, which open it when there is something behind the address.
CUresult memory_reserve(struct device *device, size_t size, uint64_t *address);
void memory_open(uint64_t base, bool open);
// Whether calls of the program know the memory: what is queued behind an allocation may use it, though
// the allocation has not run yet. Nodes may be built of it at any time: a thread that does so is shown
// all of it.
void memory_show(uint64_t base, bool shown);
void memory_show_all(bool all);
// Of this base, shown or not.
bool memory_lookup_graph(uint64_t base, struct memory_range *out);
void memory_unreserve(uint64_t base);

// What the graphs do for their memory when others ask.
struct memory_graph_ops {
    // The program frees the memory at this address: from now on, and when all work before is done.
    // INVALID_VALUE: it has been freed already.
    CUresult (*begin_free)(uint64_t base);
    void (*finish_free)(uint64_t base);
    // Gives the device back what is kept unused; whether that was anything.
    bool (*trim)(struct device *device);
};
void memory_set_graph_ops(const struct memory_graph_ops *ops);
CUresult memory_graph_begin_free(const struct memory_range *range);
void memory_graph_finish_free(uint64_t base);

// Frees all that a context still owns.
void memory_release_context(struct context *context);

#endif
