// SPDX-License-Identifier: BSD-3-Clause
// Device allocations of the session with their exact sizes. They count against the budget, and
// determine which addresses a client may use. Mapped host regions are included but do not count.
#include "daemon/worker/account/allocation.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/scope.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/account/passage.h"
#include "daemon/worker/account/pools.h"
#include "daemon/worker/account/shared.h"
#include "daemon/worker/core/gpus.h"

struct counted_allocation {
    uint64_t start, size;
    CUcontext context; // it dies with it; NULL: with nothing but itself
    int device;
    enum allocation_kind kind;
    struct pool_account *account; // which counts it; NULL: it counts itself
    bool leaving;            // it is being freed: no call finds it, and it counts until it is free
    bool refused;            // the program did not get it
    const void *end;         // of its context, in which it is freed; NULL: none
    struct passage *passage; // the memory is free after it; NULL: when the freeing call returns
};

// Sorted by start, without overlaps.
static struct counted_allocation *list;
static size_t count, room;
static _Atomic unsigned passing; // allocations that wait for the GPU
static _Atomic unsigned refused; // those that the program did not get
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The number of allocations that start at or below ADDRESS.
static size_t allocation_below(uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Memory that graphs had between two allocations may have gone: it is no neighbour.
static bool shares_first_page(size_t i, uint64_t page, uint64_t number)
{
    while (i > 0 && list[i - 1].kind != ALLOCATION_DEVICE && list[i - 1].start / page == number)
        i--;
    return i > 0 && list[i - 1].kind == ALLOCATION_DEVICE &&
           (list[i - 1].start + list[i - 1].size - 1) / page == number;
}

static bool shares_last_page(size_t i, uint64_t page, uint64_t number)
{
    while (++i < count && list[i].start / page == number)
        if (list[i].kind == ALLOCATION_DEVICE)
            return true;
    return false;
}

// The driver places small allocations in shared pages. The neighbours of this one that may share a
// page with it are the last before it and the first after it.
static uint64_t taken(size_t i)
{
    uint64_t page = gpus.list[list[i].device].page;

    if (!page || list[i].kind != ALLOCATION_DEVICE)
        return list[i].size;
    uint64_t first = list[i].start / page, last = (list[i].start + list[i].size - 1) / page;
    bool before = shares_first_page(i, page, first), behind = shares_last_page(i, page, last);
    uint64_t shared = first == last ? before || behind : (uint64_t)before + behind;
    return (last - first + 1 - shared) * page;
}

static void allocation_take_out(size_t i)
{
    atomic_fetch_sub(&refused, list[i].refused);
    memmove(&list[i], &list[i + 1], (--count - i) * sizeof(*list));
}

static void allocation_drop(size_t i)
{
    if (list[i].passage)
        atomic_fetch_sub(&passing, 1);
    passage_end(list[i].passage);
    if (list[i].account)
        pool_note_free(list[i].account, list[i].size);
    else if (list[i].kind == ALLOCATION_DEVICE || list[i].kind == ALLOCATION_POOL)
        budget_give(list[i].device, taken(i));
    if (list[i].kind == ALLOCATION_DEVICE || list[i].kind == ALLOCATION_POOL)
        shared_forget(list[i].start);
    else if (list[i].kind == ALLOCATION_IMPORTED)
        import_forget(list[i].start);
    allocation_take_out(i);
}

// Drops the memory that graphs no longer have, and memory that is free by now because other memory
// is there.
static void drop_what_was_there(uint64_t start, uint64_t size)
{
    size_t i = allocation_below(start);

    i -= i && list[i - 1].start + list[i - 1].size > start;
    while (i < count && list[i].start < start + size)
        if (list[i].kind == ALLOCATION_GRAPH)
            allocation_take_out(i);
        else if (list[i].leaving)
            allocation_drop(i);
        else
            i++;
}

static int allocation_insert(const struct counted_allocation *allocation)
{
    int err = 0;

    SCOPED_LOCK(&lock);
    drop_what_was_there(allocation->start, allocation->size);
    if (count == room) {
        size_t more = room ? room * 2 : 256;
        struct counted_allocation *grown = realloc(list, more * sizeof(*list));
        if (grown) {
            list = grown;
            room = more;
        } else {
            err = -ENOMEM;
        }
    }
    size_t at = allocation_below(allocation->start);
    if (!err) {
        memmove(&list[at + 1], &list[at], (count - at) * sizeof(*list));
        list[at] = *allocation;
        count++;
        RGPU_ASSERT(at == 0 || list[at - 1].start + list[at - 1].size <= list[at].start);
        RGPU_ASSERT(at + 1 == count || list[at].start + list[at].size <= list[at + 1].start);
    }
    return err;
}

int allocation_add(uint64_t address, uint64_t size, int device, CUcontext context,
                   enum allocation_kind kind)
{
    return allocation_insert(&(struct counted_allocation){
        .start = address, .size = size, .context = context, .device = device, .kind = kind});
}

int allocation_add_pooled(uint64_t address, uint64_t size, int device, CUcontext context,
                          struct pool_account *account)
{
    return allocation_insert(&(struct counted_allocation){.start = address,
                                                          .size = size,
                                                          .context = context,
                                                          .device = device,
                                                          .kind = ALLOCATION_POOL,
                                                          .account = account});
}

int allocation_add_of_graph(uint64_t address, uint64_t size)
{
    return allocation_insert(
        &(struct counted_allocation){.start = address, .size = size, .kind = ALLOCATION_GRAPH});
}

// Under lock; NULL: none starts there, or not of that state.
static struct counted_allocation *starting(uint64_t address, bool leaving)
{
    size_t at = allocation_below(address);

    return at && list[at - 1].start == address && list[at - 1].kind != ALLOCATION_GRAPH &&
                   list[at - 1].leaving == leaving
               ? &list[at - 1]
               : NULL;
}

bool allocation_remove(uint64_t address)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = starting(address, false);
    if (found)
        allocation_drop((size_t)(found - list));
    return found;
}

bool allocation_leave(uint64_t address)
{
    SCOPED_LOCK(&lock);
    struct counted_allocation *found = starting(address, false);
    if (found)
        found->leaving = true;
    return found;
}

void allocation_stay(uint64_t address)
{
    SCOPED_LOCK(&lock);
    struct counted_allocation *found = starting(address, true);
    if (found)
        found->leaving = false;
}

void allocation_left(uint64_t address)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = starting(address, true);
    if (found)
        allocation_drop((size_t)(found - list));
}

// A pool has its own account of pending frees, and without a budget no allocation waits for it.
static bool allocation_waits(const struct counted_allocation *found)
{
    return found->kind == ALLOCATION_DEVICE && gpus.list[found->device].budget;
}

static bool leaves_now(uint64_t address)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = starting(address, true);
    bool now = !found || !allocation_waits(found);
    if (!now)
        shared_forget(address);
    else if (found)
        allocation_drop((size_t)(found - list));
    return now;
}

void allocation_left_behind(uint64_t address, CUcontext context, CUstream stream)
{
    if (leaves_now(address))
        return;
    struct passage *passage = passage_begin(context, stream);
    SCOPED_LOCK(&lock);
    struct counted_allocation *found = starting(address, true);
    if (found) {
        // Without a passage it counts until its context ends, or the driver gives its place to
        // something else.
        found->passage = passage;
        atomic_fetch_add(&passing, passage != NULL);
    } else {
        passage_end(passage);
    }
}

void allocation_refuse(uint64_t address)
{
    SCOPED_LOCK(&lock);
    struct counted_allocation *found = starting(address, false);
    if (!found)
        return;
    found->leaving = found->refused = true;
    atomic_fetch_add(&refused, 1);
}

bool allocations_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed) != 0;
}

uint64_t allocation_take_refused(CUcontext context)
{
    uint64_t address = 0;

    if (!allocations_refused())
        return 0;
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < count && !address; i++)
        if (list[i].refused && list[i].context == context && !list[i].end) {
            list[i].refused = false;
            atomic_fetch_sub(&refused, 1);
            address = list[i].start;
        }
    return address;
}

bool allocations_pass(void)
{
    return atomic_load_explicit(&passing, memory_order_relaxed) != 0;
}

bool allocations_settle(void)
{
    bool any = false;

    SCOPED_LOCK(&lock);
    for (size_t i = count; i-- > 0;)
        if (passage_is_over(list[i].passage)) {
            allocation_drop(i);
            any = true;
        }
    return any;
}

void allocation_forget(uint64_t address)
{
    SCOPED_LOCK(&lock);
    size_t at = allocation_below(address);
    if (at && list[at - 1].start == address)
        allocation_take_out(at - 1);
}

uint64_t allocation_taken(uint64_t address)
{
    SCOPED_LOCK(&lock);
    size_t at = allocation_below(address);
    uint64_t bytes = at && list[at - 1].start == address ? taken(at - 1) : 0;
    return bytes;
}

void allocations_leave_context(CUcontext context, const void *end)
{
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < count; i++) {
        if (list[i].context != context)
            continue;
        atomic_fetch_sub(&passing, list[i].passage != NULL);
        passage_end(list[i].passage);
        list[i].passage = NULL;
        list[i].leaving = true;
        list[i].end = end;
    }
}

void allocations_left(const void *end)
{
    SCOPED_LOCK(&lock);
    for (size_t i = count; i-- > 0;)
        if (list[i].end == end)
            allocation_drop(i);
}

// Under lock; NULL: none.
static const struct counted_allocation *find(uint64_t address)
{
    size_t at = allocation_below(address);

    return at && address - list[at - 1].start < list[at - 1].size && !list[at - 1].leaving
               ? &list[at - 1]
               : NULL;
}

// Under lock. The driver takes a range of several mappings as it takes one.
static void allocation_join(const struct counted_allocation *first, uint64_t *start, uint64_t *end)
{
    const struct counted_allocation *last = first;

    if (first->kind != ALLOCATION_MAPPED)
        return;
    while (first > list && first[-1].kind == ALLOCATION_MAPPED &&
           first[-1].start + first[-1].size == first->start)
        first--;
    while (last + 1 < list + count && last[1].kind == ALLOCATION_MAPPED &&
           last->start + last->size == last[1].start)
        last++;
    *start = first->start;
    *end = last->start + last->size;
}

bool allocation_find(uint64_t address, uint64_t *start, uint64_t *end)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = find(address);
    if (found) {
        *start = found->start;
        *end = found->start + found->size;
        allocation_join(found, start, end);
    }
    return found != NULL;
}

bool allocation_is_plain(uint64_t address, uint64_t *start, uint64_t *end, CUcontext *context)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = find(address);
    bool plain = found && found->kind == ALLOCATION_DEVICE;
    if (plain) {
        *start = found->start;
        *end = found->start + found->size;
        *context = found->context;
    }
    return plain;
}

bool allocation_is_pooled(uint64_t address, uint64_t *size)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = find(address);
    bool pooled = found && found->kind == ALLOCATION_POOL && found->start == address;
    if (pooled)
        *size = found->size;
    return pooled;
}

bool allocation_is_imported(uint64_t address)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = find(address);
    return found && found->kind == ALLOCATION_IMPORTED && found->start == address;
}

int allocation_device(uint64_t address)
{
    SCOPED_LOCK(&lock);
    const struct counted_allocation *found = find(address);
    return found ? found->device : 0;
}
