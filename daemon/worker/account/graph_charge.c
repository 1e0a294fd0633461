// SPDX-License-Identifier: BSD-3-Clause
// All graphs of a device share one allocator, which takes memory from the device (not the current
// one) at the first upload or launch. Allocations have fixed addresses, so an executable graph
// needs at most the pages of its allocations. These count from before the first upload until the
// driver has freed unused memory. If the allocator reports more reserved memory, that counts
// instead, because memory that a launch has left allocated outlives the executable graph.
#include "daemon/worker/account/graph_charge.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/account/graph_walk.h"
#include "daemon/worker/account/passage.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"

struct graph_need {
    CUgraphExec exec;        // NULL: not instantiated yet
    bool counted;            // with what has memory
    struct passage *passage; // after its last launch; NULL: there was none
    struct graph_need *next;
    uint64_t bytes[GPUS_MAX]; // by device
};

struct graph_page_run {
    int device;
    uint64_t start, end;
};

struct graph_pages {
    struct graph_page_run *list;
    size_t count, room;
};

static _Atomic bool graphs_allocate;
static struct graph_need *needs;
static uint64_t charged[GPUS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void graph_charge_note(void)
{
    atomic_store(&graphs_allocate, true);
}

bool graph_charge_counts(void)
{
    return session.budgeted && atomic_load_explicit(&graphs_allocate, memory_order_relaxed);
}

// ---- what a graph needs ----

static CUresult add_range(struct graph_pages *ranges, CUgraphNode node)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = {0};

    if (!driver.cuGraphMemAllocNodeGetParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = driver.cuGraphMemAllocNodeGetParams(node, &params);
    int device = result == CUDA_SUCCESS ? session_device_of(params.poolProps.location.id) : 0;
    if (result != CUDA_SUCCESS || !gpus.list[device].budget)
        return result;
    if (ranges->count == ranges->room) {
        size_t more = ranges->room ? ranges->room * 2 : 64;
        struct graph_page_run *grown = realloc(ranges->list, more * sizeof(*grown));
        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        ranges->list = grown;
        ranges->room = more;
    }
    uint64_t page = gpus.list[device].page ? gpus.list[device].page : 1;
    uint64_t end = params.dptr + params.bytesize;
    ranges->list[ranges->count++] =
        (struct graph_page_run){device, params.dptr / page * page, (end + page - 1) / page * page};
    return CUDA_SUCCESS;
}

static CUresult graph_charge_collect(CUgraphNode node, CUgraphNodeType type, void *ranges)
{
    return type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? add_range(ranges, node) : CUDA_SUCCESS;
}

static int graph_charge_by_address(const void *a, const void *b)
{
    const struct graph_page_run *one = a, *other = b;

    if (one->device != other->device)
        return one->device < other->device ? -1 : 1;
    return one->start < other->start ? -1 : one->start > other->start;
}

// Allocations of which one follows the end of another may have the same place, which counts once.
static void graph_charge_sum_up(struct graph_pages *ranges, uint64_t bytes[GPUS_MAX])
{
    const struct graph_page_run *before = NULL;
    uint64_t end = 0;

    qsort(ranges->list, ranges->count, sizeof(*ranges->list), graph_charge_by_address);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct graph_page_run *range = &ranges->list[i];
        uint64_t start =
            before && before->device == range->device && end > range->start ? end : range->start;
        if (range->end > start)
            bytes[range->device] += range->end - start;
        end = range->end > start ? range->end : start;
        before = range;
    }
}

CUresult graph_need_find(CUgraph graph, struct graph_need **out)
{
    struct graph_pages ranges = {0};

    *out = NULL;
    if (!graph_charge_counts() || !graph_can_walk())
        return CUDA_SUCCESS;
    CUresult result = graph_walk(graph, &(struct graph_visitor){.node = graph_charge_collect,
                                                                .argument = &ranges});
    struct graph_need *need = result == CUDA_SUCCESS && ranges.count ? calloc(1, sizeof(*need))
                                                                     : NULL;
    if (need) {
        graph_charge_sum_up(&ranges, need->bytes);
        SCOPED_LOCK(&lock);
        need->next = needs;
        needs = need;
        *out = need;
    } else if (result == CUDA_SUCCESS && ranges.count) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    free(ranges.list);
    return result;
}

// ---- counting it. Under lock, as all that follows ----

static uint64_t graph_charge_reserved(int device)
{
    cuuint64_t bytes = 0;

    return driver.cuDeviceGetGraphMemAttribute &&
                   driver.cuDeviceGetGraphMemAttribute(gpus.list[device].handle,
                                                       CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                                       &bytes) == CUDA_SUCCESS
               ? bytes
               : 0;
}

// Returns the bytes that the driver can have taken by now.
static uint64_t possible(int device)
{
    uint64_t now = graph_charge_reserved(device), sum = 0;

    for (const struct graph_need *need = needs; need; need = need->next)
        sum += need->counted ? need->bytes[device] : 0;
    return now > sum ? now : sum;
}

static bool graph_charge_set(int device, uint64_t bytes)
{
    uint64_t before = charged[device];

    if (bytes > before && !budget_find_beside_graphs(device, bytes - before))
        return false;
    if (bytes < before)
        budget_give(device, before - bytes);
    charged[device] = bytes;
    return true;
}

// False: that is over the budget, and counts all the same.
static bool set_to_possible(int device)
{
    uint64_t bytes = possible(device);
    bool fits = graph_charge_set(device, bytes);

    if (!fits) {
        budget_hold(device, bytes - charged[device]);
        charged[device] = bytes;
    }
    return fits;
}

// Memory of what is being launched stays.
static void forget_idle(void)
{
    for (struct graph_need *need = needs; need; need = need->next)
        need->counted &= need->passage && !passage_is_over(need->passage);
}

static bool graph_charge_trim(int device)
{
    uint64_t before = charged[device];

    if (!driver.cuDeviceGraphMemTrim ||
        driver.cuDeviceGraphMemTrim(gpus.list[device].handle) != CUDA_SUCCESS)
        return false;
    forget_idle();
    set_to_possible(device);
    return charged[device] < before;
}

static bool take_on(int device, uint64_t bytes)
{
    return graph_charge_set(device, possible(device) + bytes) ||
           (graph_charge_trim(device) && graph_charge_set(device, possible(device) + bytes));
}

static CUresult take(struct graph_need *need)
{
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < session.device_count && !need->counted; i++) {
        int device = session.ordinals[i];
        if (need->bytes[device] && !take_on(device, need->bytes[device]))
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    need->counted |= result == CUDA_SUCCESS;
    for (unsigned i = 0; i < session.device_count && result != CUDA_SUCCESS; i++)
        set_to_possible(session.ordinals[i]);
    return result;
}

static struct graph_need **graph_charge_find(CUgraphExec exec)
{
    struct graph_need **at = &needs;

    while (*at && (*at)->exec != exec)
        at = &(*at)->next;
    return at;
}

static void graph_charge_settle(void)
{
    for (unsigned i = 0; i < session.device_count; i++)
        if (charged[session.ordinals[i]])
            set_to_possible(session.ordinals[i]);
}

static void graph_charge_take_out(struct graph_need **at)
{
    struct graph_need *gone = *at;

    *at = gone->next;
    passage_end(gone->passage);
    free(gone);
    graph_charge_settle();
}

// ---- what requests do ----

void graph_need_is(struct graph_need *need, CUgraphExec exec)
{
    SCOPED_LOCK(&lock);
    if (need)
        need->exec = exec;
}

void graph_need_drop(struct graph_need *need)
{
    struct graph_need **at = &needs;

    SCOPED_LOCK(&lock);
    while (*at && *at != need)
        at = &(*at)->next;
    if (*at)
        graph_charge_take_out(at);
}

void graph_charge_end(CUgraphExec exec)
{
    SCOPED_LOCK(&lock);
    struct graph_need **at = graph_charge_find(exec);
    if (*at)
        graph_charge_take_out(at);
    else
        graph_charge_settle();
}

CUresult graph_need_take(struct graph_need *need)
{
    if (!need)
        return CUDA_SUCCESS;
    passages_query();
    SCOPED_LOCK(&lock);
    CUresult result = take(need);
    return result;
}

CUresult graph_charge_take(CUgraphExec exec, bool *first)
{
    passages_query();
    SCOPED_LOCK(&lock);
    struct graph_need *need = *graph_charge_find(exec);
    *first = need && !need->counted;
    CUresult result = need ? take(need) : CUDA_SUCCESS;
    return result;
}

CUresult graph_charge_taken(void)
{
    CUresult result = CUDA_SUCCESS;

    SCOPED_LOCK(&lock);
    for (unsigned i = 0; i < session.device_count; i++) {
        int device = session.ordinals[i];
        if (gpus.list[device].budget && !set_to_possible(device)) {
            graph_charge_trim(device);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return result;
}

void graph_charge_launched(CUgraphExec exec, CUcontext context, CUstream stream)
{
    SCOPED_LOCK(&lock);
    struct graph_need *need = *graph_charge_find(exec);
    if (!need)
        return;
    passage_end(need->passage);
    need->passage = passage_begin(context, stream);
}

void graph_charge_trimmed(int device)
{
    passages_query();
    SCOPED_LOCK(&lock);
    forget_idle();
    set_to_possible(device);
}

bool graph_charge_reclaim(int device)
{
    if (!graph_charge_counts())
        return false;
    passages_query();
    SCOPED_LOCK(&lock);
    bool any = charged[device] && graph_charge_trim(device);
    return any;
}
