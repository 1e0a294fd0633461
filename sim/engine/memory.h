// SPDX-License-Identifier: BSD-3-Clause
// Keeps every memory range of the software GPU (device allocations, module variables, pool
// allocations, pinned host memory) in one table ordered by address. Device memory is memory of this
// process at its real address.
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "sim/engine/context.h"

struct memory_pool;
struct sim_physical;

enum memory_kind {
    MEMORY_DEVICE,   // cuMemAlloc
    MEMORY_MANAGED,  // cuMemAllocManaged
    MEMORY_POOL,     // cuMemAllocAsync
    MEMORY_VARIABLE, // a variable of a module
    MEMORY_MANAGED_VARIABLE,
    MEMORY_HEAP,       // from malloc in a kernel
    MEMORY_HOST,       // cuMemHostAlloc
    MEMORY_REGISTERED, // cuMemHostRegister
    MEMORY_MAPPED,     // from cuMemMap; belongs to no context
    MEMORY_GRAPH,      // of an allocation node; it exists while the graphs need it
    MEMORY_IMPORTED,   // cuIpcOpenMemHandle, cuMemPoolImportPointer
    MEMORY_ARRAY,      // reached by handle only, and freed with its object
};

struct memory_range {
    uint64_t base;
    size_t size; // as requested
    enum memory_kind kind;
    unsigned flags;          // of host memory, as given by the program
    struct context *context; // owner; not counted, since the range ends with it
    uint64_t owner;          // handle of the owner, for use in copies of this structure
    struct device *device;
    struct memory_pool *pool; // for MEMORY_POOL and imports from a pool; not counted
    size_t charged;           // bytes charged to the device
    uint64_t id;              // unique in the process
    bool sync_copies;         // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
    bool leaving;             // cuMemFreeAsync was called; API calls no longer accept the range
    // MEMORY_MAPPED only
    unsigned handle_types;
    struct sim_physical *physical;             // counted
    CUmemAccess_flags access[SIM_MAX_DEVICES]; // of each device
    // MEMORY_GRAPH only
    bool open;  // kernels may access it
    bool shown; // API calls accept it
};

static inline bool memory_is_host(const struct memory_range *range)
{
    return range->kind == MEMORY_HOST || range->kind == MEMORY_REGISTERED;
}

// Returns true for managed memory, which the host uses at the same address and which has pages of
// its own.
static inline bool memory_is_managed(const struct memory_range *range)
{
    return range->kind == MEMORY_MANAGED || range->kind == MEMORY_MANAGED_VARIABLE;
}

// Returns the bytes that an allocation takes from the device's memory.
size_t memory_rounded(size_t size);

// Reserves the device's addresses before its first context. Returns OUT_OF_MEMORY.
CUresult arena_prepare(struct device *device);

// Allocates device memory for a context and charges the device. For MEMORY_POOL it charges `pool`
// instead; `pool` is NULL for all other kinds. Returns OUT_OF_MEMORY.
CUresult memory_allocate(struct context *context, size_t size, enum memory_kind kind,
                         struct memory_pool *pool, uint64_t *address);

// Removes the range that starts at `base` if `accept` (may be NULL) returns true, and frees device
// memory. Stores the old description in *old. Returns INVALID_VALUE if no range starts there.
CUresult memory_release(uint64_t base, bool (*accept)(const struct memory_range *range),
                        struct memory_range *old);

// The same, when a stream reaches the free: the device has the bytes of plain memory back later
// (device_uncharge_late).
void memory_release_in_order(uint64_t base, bool (*accept)(const struct memory_range *range));

// Adds a range of host memory. Returns HOST_MEMORY_ALREADY_REGISTERED if it overlaps another one.
CUresult memory_add_host(struct context *context, void *start, size_t size, enum memory_kind kind,
                         unsigned flags);

// Copies the description of the range that holds `address`. Returns false if there is none.
bool memory_lookup(uint64_t address, struct memory_range *out);
// Does the same if all of [address, address + size) lies in the range, or in adjacent mappings that
// are open to a device.
bool memory_lookup_span(uint64_t address, size_t size, struct memory_range *out);
// Hides the pool memory at BASE from API calls, or shows it again.
void memory_set_leaving(uint64_t base, bool leaving);
void memory_set_sync_copies(uint64_t address, bool sync);

// Adds memory of another process, which ipc_memory.c maps and unmaps. `pool` is the imported pool
// that the memory belongs to, or NULL.
CUresult memory_add_import(struct context *context, uint64_t base, size_t size,
                           struct memory_pool *pool);

// ---- mappings (address_ranges.c) ----

// Adds a mapping of SIZE bytes. Returns INVALID_VALUE if the addresses are in use, as the driver
// does.
CUresult memory_add_mapping(uint64_t base, size_t size, struct sim_physical *physical);
// Calls VISIT (may be NULL) under the table's lock for each mapping of [address, address + size).
// Returns INVALID_VALUE, without a call, unless whole mappings cover the range without a gap.
CUresult memory_each_mapping(uint64_t address, size_t size,
                             void (*visit)(void *argument, struct memory_range *range),
                             void *argument);
// Removes the mappings of [address, address + size) from the table. Returns INVALID_VALUE as
// memory_each_mapping does.
CUresult memory_remove_mappings(uint64_t address, size_t size,
                                void (*dispose_of)(struct memory_range *range));
// Returns true if anything is mapped in the range.
bool memory_any_mapping(uint64_t address, size_t size);

// Finds the range that holds the address and that kernels of the context `argument` may access.
bool memory_find_for_kernel(void *argument, uint64_t address, uint64_t *base, uint64_t *end);

// Implement malloc and free in kernels of a context. malloc returns 0 when the heap is full.
uint64_t memory_heap_allocate(void *argument, size_t size);
void memory_heap_release(void *argument, uint64_t address);

// Waits for the work of the context that owns the range; `range` is a copy of its description.
CUresult memory_synchronize_owner(const struct memory_range *range);

// Reserves memory of graphs. It keeps one address, belongs to no context, and is charged by the
// graphs, which open it while memory is allocated at the address.
CUresult memory_reserve(struct device *device, size_t size, uint64_t *address);
void memory_open(uint64_t base, bool open);
// Shows the memory to API calls or hides it. Work queued after an allocation may use the memory
// before the allocation has run. Nodes may be built for it at any time; memory_show_all makes the
// calling thread see all of it.
void memory_show(uint64_t base, bool shown);
void memory_show_all(bool all);
// Finds the graph memory at this base, shown or not.
bool memory_lookup_graph(uint64_t base, struct memory_range *out);
void memory_unreserve(uint64_t base);

// The operations of the graphs on their memory.
struct memory_graph_ops {
    // Begin and finish a free by the program: at the call, and when all earlier work is done.
    // Return INVALID_VALUE if the memory is free already.
    CUresult (*begin_free)(uint64_t base);
    void (*finish_free)(uint64_t base);
    // Returns unused memory to the device. Returns true if there was any.
    bool (*trim)(struct device *device);
};
void memory_set_graph_ops(const struct memory_graph_ops *ops);
CUresult memory_graph_begin_free(const struct memory_range *range);
void memory_graph_finish_free(uint64_t base);

// Frees all memory that a context still owns.
void memory_release_context(struct context *context);

#endif
