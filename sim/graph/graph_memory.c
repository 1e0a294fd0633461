// SPDX-License-Identifier: BSD-3-Clause
#include "sim/graph/graph_memory.h"

#include <stdlib.h>
#include <string.h>

#include "sim/graph/exec_plan.h"
#include "sim/engine/memory.h"

struct graph_memory {
    struct graph_memory *next; // in the list of all; under `pools.lock`
    atomic_int references;
    struct device *device;
    uint64_t base;
    size_t size;
    // state as of the program's calls so far, whether they have run or not; under graph_mutex
    bool taken;
    bool mapped; // state as of the operations run so far; under `pools.lock`
};

struct claimed {
    struct graph_memory *memory; // counted
    bool opened;
};

struct memory_claim {
    size_t count;
    struct claimed items[];
};

// Memory of graphs on each device; never below the claimed bytes.
static struct {
    pthread_mutex_t lock;
    struct graph_memory *first;
    struct {
        uint64_t claimed; // by queued launches, and by allocations that they left
        uint64_t reserved;
        uint64_t reserved_high;
        uint64_t used;
        uint64_t used_high;
    } devices[SIM_MAX_DEVICES];
} pools = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool trim_device(struct device *device)
{
    SCOPED_LOCK(&pools.lock);
    uint64_t spare = pools.devices[device->index].reserved - pools.devices[device->index].claimed;
    if (spare)
        device_uncharge(device, spare);
    pools.devices[device->index].reserved -= spare;
    return spare;
}

static CUresult begin_free(uint64_t base);

static void finish_free(uint64_t base)
{
    struct graph_memory *memory = graph_memory_find(base);
    if (!memory)
        return;
    graph_memory_close(memory);
    graph_memory_put(memory);
}

static const struct memory_graph_ops memory_ops = {begin_free, finish_free, trim_device};

CUresult graph_memory_create(struct device *device, size_t size, struct graph_memory **out)
{
    struct graph_memory *memory = calloc(1, sizeof(*memory));
    SIM_RETURN_IF(!memory, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = memory_reserve(device, size, &memory->base);
    if (result) {
        free(memory);
        return result;
    }
    memory_set_graph_ops(&memory_ops);
    atomic_init(&memory->references, 1);
    memory->device = device;
    memory->size = memory_rounded(size);
    SCOPED_LOCK(&pools.lock);
    memory->next = pools.first;
    pools.first = memory;
    *out = memory;
    return CUDA_SUCCESS;
}

static struct graph_memory *graph_memory_hold(struct graph_memory *memory)
{
    atomic_fetch_add(&memory->references, 1);
    return memory;
}

struct graph_memory *graph_memory_find(CUdeviceptr address)
{
    SCOPED_LOCK(&pools.lock);
    for (struct graph_memory *m = pools.first; m; m = m->next)
        if (m->base == address)
            return graph_memory_hold(m);
    return NULL;
}

CUdeviceptr graph_memory_address(const struct graph_memory *memory)
{
    return memory->base;
}

// Releases the memory's claim. Called under the lock.
static void unclaim(const struct graph_memory *memory)
{
    pools.devices[memory->device->index].claimed -= memory->size;
}

// Drops a reference. The last one frees the memory, even if it is still allocated.
void graph_memory_put(struct graph_memory *memory)
{
    {
        SCOPED_LOCK(&pools.lock);
        if (atomic_fetch_sub(&memory->references, 1) != 1)
            return;
        struct graph_memory **link = &pools.first;
        while (*link != memory)
            link = &(*link)->next;
        *link = memory->next;
        if (memory->mapped) {
            unclaim(memory);
            pools.devices[memory->device->index].used -= memory->size;
        }
    }
    memory_unreserve(memory->base);
    free(memory);
}

void graph_memory_close(struct graph_memory *memory)
{
    SCOPED_LOCK(&pools.lock);
    if (!memory->mapped)
        return;
    memory->mapped = false;
    pools.devices[memory->device->index].used -= memory->size;
    unclaim(memory);
    memory_open(memory->base, false);
}

static CUresult begin_free(uint64_t base)
{
    SCOPED_LOCK(&graph_mutex);
    struct graph_memory *memory = graph_memory_find(base);
    SIM_RETURN_IF(!memory, CUDA_ERROR_INVALID_VALUE);
    bool taken = memory->taken;
    memory->taken = false;
    memory_show(base, false);
    graph_memory_put(memory);
    return taken ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --- launches

struct claiming {
    bool free_first;
    uint64_t needed[SIM_MAX_DEVICES];
    size_t count;
    size_t frees;
    struct memory_claim *claim;
};

static bool allocates(const struct exec_plan_node *node)
{
    return step_params(node->step)->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
}

static CUresult count_need(struct exec_plan_node *node, void *opaque)
{
    struct claiming *claiming = opaque;
    claiming->frees += step_memory(node->step) && !allocates(node);
    if (!allocates(node))
        return CUDA_SUCCESS;
    const struct graph_memory *memory = step_memory(node->step);
    SIM_RETURN_IF(memory->taken && !claiming->free_first, CUDA_ERROR_INVALID_VALUE);
    claiming->count++;
    if (!memory->taken)
        claiming->needed[memory->device->index] += memory->size;
    return CUDA_SUCCESS;
}

// Charges the device so that WANTED bytes are reserved. Called under the lock.
static CUresult graph_memory_reserve(struct device *device, uint64_t wanted)
{
    if (wanted <= pools.devices[device->index].reserved)
        return CUDA_SUCCESS;
    SIM_TRY(device_charge(device, wanted - pools.devices[device->index].reserved));
    pools.devices[device->index].reserved = wanted;
    if (wanted > pools.devices[device->index].reserved_high)
        pools.devices[device->index].reserved_high = wanted;
    return CUDA_SUCCESS;
}

static CUresult graph_memory_charge(const struct claiming *claiming, bool claim)
{
    for (int i = 0; i < device_count(); i++) {
        struct device *device;
        SIM_TRY(device_get(i, &device));
        SCOPED_LOCK(&pools.lock);
        if (!claiming->needed[i])
            continue;
        SIM_TRY(graph_memory_reserve(device, pools.devices[i].claimed + claiming->needed[i]));
        if (claim)
            pools.devices[i].claimed += claiming->needed[i];
    }
    return CUDA_SUCCESS;
}

// Computes the state of the memory after the queued launch.
static CUresult graph_memory_take(struct exec_plan_node *node, void *opaque)
{
    struct claiming *claiming = opaque;
    struct graph_memory *memory = step_memory(node->step);
    if (!memory)
        return CUDA_SUCCESS;
    memory->taken = allocates(node);
    memory_show(memory->base, memory->taken);
    if (allocates(node))
        claiming->claim->items[claiming->claim->count++].memory = graph_memory_hold(memory);
    return CUDA_SUCCESS;
}

CUresult memory_claim_create(struct exec_plan *plan, bool free_first, struct memory_claim **out)
{
    struct claiming claiming = {.free_first = free_first};
    *out = NULL;
    SIM_TRY(exec_plan_visit(plan, count_need, &claiming));
    if (!claiming.count && !claiming.frees)
        return CUDA_SUCCESS;
    claiming.claim =
        calloc(1, sizeof(struct memory_claim) + claiming.count * sizeof(struct claimed));
    SIM_RETURN_IF(!claiming.claim, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = graph_memory_charge(&claiming, true);
    if (result) {
        free(claiming.claim);
        return result;
    }
    (void)exec_plan_visit(plan, graph_memory_take, &claiming);
    *out = claiming.claim;
    return CUDA_SUCCESS;
}

CUresult memory_claim_upload(struct exec_plan *plan)
{
    struct claiming claiming = {.free_first = true};
    SIM_TRY(exec_plan_visit(plan, count_need, &claiming));
    return graph_memory_charge(&claiming, false);
}

// Allocates again, at the same address, memory that an earlier launch left allocated.
void memory_claim_open(struct memory_claim *claim, struct graph_memory *memory)
{
    SCOPED_LOCK(&pools.lock);
    uint64_t *used = &pools.devices[memory->device->index].used;
    for (size_t i = 0; i < claim->count; i++)
        if (claim->items[i].memory == memory)
            claim->items[i].opened = true;
    if (memory->mapped)
        return;
    memory->mapped = true;
    *used += memory->size;
    if (*used > pools.devices[memory->device->index].used_high)
        pools.devices[memory->device->index].used_high = *used;
    memory_open(memory->base, true);
}

void memory_claim_end(struct memory_claim *claim)
{
    for (size_t i = 0; i < claim->count; i++) {
        struct graph_memory *memory = claim->items[i].memory;
        if (!claim->items[i].opened) {
            SCOPED_LOCK(&pools.lock);
            if (!memory->mapped)
                unclaim(memory);
        }
        graph_memory_put(memory);
    }
    free(claim);
}

// --- attributes

SIM_API(cuDeviceGraphMemTrim, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    (void)trim_device(device);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetGraphMemAttribute, CUdevice index, CUgraphMem_attribute attribute, void *value)
{
    struct device *device;
    uint64_t number = 0;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!value || (unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
                  CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&pools.lock);
    switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: number = pools.devices[index].used; break;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: number = pools.devices[index].used_high; break;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: number = pools.devices[index].reserved; break;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: number = pools.devices[index].reserved_high; break;
    }
    memcpy(value, &number, sizeof(number));
    return CUDA_SUCCESS;
}

// Resets high-water marks to the present value by writing 0; other values are invalid.
SIM_API(cuDeviceSetGraphMemAttribute, CUdevice index, CUgraphMem_attribute attribute, void *value)
{
    struct device *device;
    uint64_t number;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!value, CUDA_ERROR_INVALID_VALUE);
    memcpy(&number, value, sizeof(number));
    SIM_RETURN_IF(number, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&pools.lock);
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        pools.devices[index].used_high = pools.devices[index].used;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        pools.devices[index].reserved_high = pools.devices[index].reserved;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
