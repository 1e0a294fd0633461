// SPDX-License-Identifier: BSD-3-Clause
// Table of all memory ranges of the software GPU, ordered by address: device allocations, module
// variables, pool allocations, pinned host memory. Device memory is memory of this process; a
// device pointer is its address.
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
    MEMORY_HEAP,       // malloc in a kernel
    MEMORY_HOST,       // cuMemHostAlloc
    MEMORY_REGISTERED, // cuMemHostRegister
    MEMORY_MAPPED,     // cuMemMap; belongs to no context
    MEMORY_GRAPH,      // allocation node of a graph
    MEMORY_IMPORTED,   // cuIpcOpenMemHandle, cuMemPoolImportPointer
    MEMORY_ARRAY,      // memory of an array; accessible by handle only
};

struct memory_range {
    uint64_t base;
    size_t size; // bytes that the program requested
    enum memory_kind kind;
    unsigned flags;          // flags of host memory, as the program passed them
    struct context *context; // not counted: the range is removed with the context
    uint64_t owner;          // handle of the context, for copies of this structure
    struct device *device;
    struct memory_pool *pool; // pool of MEMORY_POOL and imports; not counted
    size_t charged;           // bytes allocated in the device's account
    uint64_t id;              // unique in the process
    bool sync_copies;         // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
    bool leaving;             // cuMemFreeAsync was called: API calls reject the range
    // only for MEMORY_MAPPED
    unsigned handle_types;
    struct sim_physical *physical;             // counted reference
    CUmemAccess_flags access[SIM_MAX_DEVICES]; // access of each device
    // only for MEMORY_GRAPH
    bool open;  // kernels can access it
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

// Returns SIZE rounded up to the bytes that an allocation takes from a device.
size_t memory_rounded(size_t size);

// Creates the device's arena if necessary. Returns OUT_OF_MEMORY.
CUresult arena_prepare(struct device *device);

// Allocates device memory and charges it to the device, or to POOL for MEMORY_POOL. POOL must be
// NULL for all other kinds. Returns OUT_OF_MEMORY.
CUresult memory_allocate(struct context *context, size_t size, enum memory_kind kind,
                         struct memory_pool *pool, uint64_t *address);

// Clears the lowest bit in the middle of the largest allocation of a context, as bad memory would.
void memory_spoil(const struct context *context);

// Removes the range that starts at BASE and frees its memory, if ACCEPT is NULL or returns true.
// Copies the description to *OLD. Returns INVALID_VALUE if no range starts there.
CUresult memory_release(uint64_t base, bool (*accept)(const struct memory_range *range),
                        struct memory_range *old);

// As memory_release, for a free that a stream executes. The device gets the bytes of plain memory
// back later (device_uncharge_late).
void memory_release_in_order(uint64_t base, bool (*accept)(const struct memory_range *range));

// Adds host memory. Returns HOST_MEMORY_ALREADY_REGISTERED if it overlaps a range.
CUresult memory_add_host(struct context *context, void *start, size_t size, enum memory_kind kind,
                         unsigned flags);

// Copies the description of the range that contains ADDRESS. Returns false if there is none.
bool memory_lookup(uint64_t address, struct memory_range *out);
// As memory_lookup, but [address, address + size) must be in the range, or in adjacent mappings
// that a device can access.
bool memory_lookup_span(uint64_t address, size_t size, struct memory_range *out);
// Sets `leaving` of the pool allocation at BASE.
void memory_set_leaving(uint64_t base, bool leaving);
void memory_set_sync_copies(uint64_t address, bool sync);

// Adds memory of another process, which ipc_memory.c has mapped. POOL is the imported pool of the
// memory, or NULL.
CUresult memory_add_import(struct context *context, uint64_t base, size_t size,
                           struct memory_pool *pool);

// ---- mappings (address_ranges.c) ----

// Adds a mapping. Returns INVALID_VALUE if a range overlaps, as the driver does.
CUresult memory_add_mapping(uint64_t base, size_t size, struct sim_physical *physical);
// Calls VISIT, unless it is NULL, with the table locked for each mapping in [address, address +
// size). Returns INVALID_VALUE, without any call, if these are not whole mappings without gaps.
CUresult memory_each_mapping(uint64_t address, size_t size,
                             void (*visit)(void *argument, struct memory_range *range),
                             void *argument);
// Removes the mappings in [address, address + size). Returns INVALID_VALUE as memory_each_mapping
// does.
CUresult memory_remove_mappings(uint64_t address, size_t size,
                                void (*dispose_of)(struct memory_range *range));
// Returns true if a mapping overlaps the range.
bool memory_any_mapping(uint64_t address, size_t size);

// Finds the range that contains the address, if kernels of the context ARGUMENT may access it.
bool memory_find_for_kernel(void *argument, uint64_t address, uint64_t *base, uint64_t *end);

// Implement malloc and free of kernels; ARGUMENT is the context. malloc returns 0 if the heap is
// full.
uint64_t memory_heap_allocate(void *argument, size_t size);
void memory_heap_release(void *argument, uint64_t address);

// Waits for all work of the context that RANGE belongs to.
CUresult memory_synchronize_owner(const struct memory_range *range);

// Reserves an address range for an allocation node. The range belongs to no context and is charged
// by sim/graph. memory_open sets whether kernels can access it.
CUresult memory_reserve(struct device *device, size_t size, uint64_t *address);
void memory_open(uint64_t base, bool open);
// Set whether API calls accept the memory. They accept it as soon as its allocation is queued.
// memory_show_all makes all graph memory acceptable for calls of this thread, so that nodes can be
// added for it at any time.
void memory_show(uint64_t base, bool shown);
void memory_show_all(bool all);
// Finds the graph memory that starts at BASE, whether API calls accept it or not.
bool memory_lookup_graph(uint64_t base, struct memory_range *out);
void memory_unreserve(uint64_t base);

// Functions of sim/graph for frees by the program.
struct memory_graph_ops {
    // begin_free is called by the API call, finish_free after all earlier work. Return
    // INVALID_VALUE if the memory is free already.
    CUresult (*begin_free)(uint64_t base);
    void (*finish_free)(uint64_t base);
    // Returns unused memory to the device. Returns false if there was none.
    bool (*trim)(struct device *device);
};
void memory_set_graph_ops(const struct memory_graph_ops *ops);
CUresult memory_graph_begin_free(const struct memory_range *range);
void memory_graph_finish_free(uint64_t base);

// Frees all memory that a context still owns.
void memory_release_context(struct context *context);

#endif
