// SPDX-License-Identifier: BSD-3-Clause
// The address book: every address that the program may hold.
#include "client-lib/cuda/objects/addresses.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/objects/ranges.h"
#include "client-lib/cuda/objects/thread.h"

enum { PAGE = 4096 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ranges allocations; // value: struct allocation
static struct ranges reserved;    // address space kept free of host memory; value: the session
static uint64_t next_id = 1;
// True once there was such memory. Most programs never have any, and need not search for it.
static atomic_bool any_sync_copies, any_on_host;

_Atomic uint64_t host_places[HOST_PLACES / 64];
atomic_bool host_places_any;

static void note_host_places(uint64_t base, uint64_t size)
{
    uint64_t first = base >> HOST_PLACE_SHIFT, last = (base + size - 1) >> HOST_PLACE_SHIFT;
    for (uint64_t at = first; at <= last && at - first < HOST_PLACES; at++) {
        uint64_t place = at % HOST_PLACES;
        atomic_fetch_or(&host_places[place / 64], UINT64_C(1) << place % 64);
    }
    atomic_store(&host_places_any, true);
}

// Keeps host memory of this process away from the device's addresses, page by page as they are
// first seen. They stay reserved when the memory is freed: drivers use them again.
static int reserve_addresses(uint64_t base, uint64_t size, struct box_session *session)
{
    uint64_t at = base & ~(uint64_t)(PAGE - 1);
    uint64_t end = (base + size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    while (at < end) {
        struct range *next = ranges_at_or_after(&reserved, at);
        if (next && next->base <= at) {
            if (next->value != session)
                return -EEXIST;
            at = next->base + next->size;
            continue;
        }
        uint64_t until = next && next->base < end ? next->base : end;
        void *got = mmap((void *)at, until - at, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == MAP_FAILED)
            return errno == EEXIST ? -EEXIST : -ENOMEM;
        if (got != (void *)at) {
            munmap(got, until - at);
            return -EEXIST;
        }
        int err = ranges_add(&reserved, at, until - at, session);
        if (err) {
            munmap(got, until - at);
            return err;
        }
        at = until;
    }
    return 0;
}

// Removes the memory of graphs and modules of the session from these addresses. Nothing reports the
// end of such memory to the client, so the box's new use of the addresses does.
static void addresses_give_way(uint64_t base, uint64_t size, const struct box_session *session)
{
    void *row;
    for (struct range *at;
         (at = ranges_at_or_after(&allocations, base)) && at->base < base + size;) {
        const struct allocation *old = at->value;
        if (!(old->of_graph || old->of_module) || old->session != session ||
            !ranges_remove(&allocations, at->base, &row))
            return;
        free(row);
    }
}

int memory_add(const struct allocation *allocation)
{
    struct allocation *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    *row = *allocation;
    pthread_rwlock_wrlock(&lock);
    row->id = next_id++;
    if (row->mapped || row->mirrored)
        atomic_store(&any_sync_copies, true);
    addresses_give_way(row->base, row->size, row->session);
    int err = row->host ? 0 : reserve_addresses(row->base, row->size, row->session);
    if (!err || (err == -EEXIST && row->of_module))
        err = ranges_add(&allocations, row->base, row->size, row);
    pthread_rwlock_unlock(&lock);
    if (err)
        free(row);
    else if (allocation->host && !allocation->mapped)
        atomic_store(&any_on_host, true);
    if (!err && allocation->host && (!allocation->mapped || allocation->elsewhere))
        note_host_places(allocation->base, allocation->size);
    return err;
}

bool memory_any_on_host(void)
{
    return atomic_load_explicit(&any_on_host, memory_order_relaxed);
}

bool memory_remove(uint64_t base, struct allocation *out)
{
    void *row = NULL;
    pthread_rwlock_wrlock(&lock);
    bool found = ranges_remove(&allocations, base, &row);
    pthread_rwlock_unlock(&lock);
    if (found) {
        *out = *(struct allocation *)row;
        free(row);
    }
    return found;
}

// Returns the entry that contains ADDRESS, NULL if there is none. The caller holds the lock.
static struct allocation *row_at(uint64_t address)
{
    const struct range *range = ranges_find(&allocations, address);
    return range ? range->value : NULL;
}

bool memory_find(uint64_t address, struct allocation *out)
{
    pthread_rwlock_rdlock(&lock);
    const struct allocation *row = row_at(address);
    if (row)
        *out = *row;
    pthread_rwlock_unlock(&lock);
    return row != NULL;
}

// Returns how many of the SIZE bytes at ADDRESS, which ROW holds, are known. The caller holds the
// lock.
static uint64_t span(const struct allocation *row, uint64_t address, uint64_t size)
{
    const struct box_session *session = row->session;
    uint64_t end = row->base + row->size;
    while (row->memory && end - address < size) {
        const struct range *next = ranges_find(&allocations, end);
        row = next ? next->value : NULL;
        if (!row || !row->memory || row->session != session)
            break;
        end += row->size;
    }
    return end - address;
}

bool memory_is_page_locked(uint64_t address)
{
    struct allocation found;
    return memory_find(address, &found) && found.host;
}

bool memory_is_on_host(uint64_t address, struct allocation *out)
{
    return atomic_load_explicit(&any_on_host, memory_order_relaxed) && memory_find(address, out) &&
           out->host && !out->mapped;
}

bool memory_find_span(uint64_t address, uint64_t size, struct allocation *out)
{
    pthread_rwlock_rdlock(&lock);
    const struct range *range = ranges_find(&allocations, address);
    bool found = range && span(range->value, address, size) >= size;
    if (found)
        *out = *(const struct allocation *)range->value;
    pthread_rwlock_unlock(&lock);
    return found;
}

bool memory_overlaps(uint64_t address, uint64_t size)
{
    pthread_rwlock_rdlock(&lock);
    const struct range *next = ranges_at_or_after(&allocations, address);
    bool overlaps = next && next->base < address + size;
    pthread_rwlock_unlock(&lock);
    return overlaps;
}

uint64_t memory_of_session(const struct box_session *session)
{
    uint64_t sum = 0;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < allocations.count; i++) {
        const struct allocation *row = allocations.rows[i].value;
        sum += !row->host && row->session == session ? row->size : 0;
    }
    pthread_rwlock_unlock(&lock);
    return sum;
}

int memory_keep_free(uint64_t address, uint64_t size, struct box_session *session)
{
    pthread_rwlock_wrlock(&lock);
    addresses_give_way(address, size, session);
    int err = reserve_addresses(address, size, session);
    pthread_rwlock_unlock(&lock);
    return err;
}

bool memory_mark_sync_copies(uint64_t address, bool on)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *row = row_at(address);
    bool found = row && !row->host;
    if (found)
        row->sync_copies = on;
    pthread_rwlock_unlock(&lock);
    if (found && on)
        atomic_store(&any_sync_copies, true);
    return found;
}

bool memory_has_sync_copies(uint64_t address)
{
    struct allocation found;
    return atomic_load_explicit(&any_sync_copies, memory_order_relaxed) &&
           memory_find(address, &found) && (found.sync_copies || found.mapped || found.mirrored);
}

void memory_mark_copied(uint64_t address)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *row = row_at(address);
    if (row)
        row->copied = true;
    pthread_rwlock_unlock(&lock);
}

void memory_mark_exported(uint64_t address)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *row = row_at(address);
    if (row)
        row->exported = true;
    pthread_rwlock_unlock(&lock);
}

bool memory_set_mirror(uint64_t base, const struct allocation *row)
{
    pthread_rwlock_wrlock(&lock);
    const struct range *range = ranges_find(&allocations, base);
    struct allocation *found = range && range->base == base ? range->value : NULL;
    if (found) {
        found->mapped = found->mirrored = row != NULL;
        atomic_store(&any_sync_copies, true);
        found->elsewhere = row ? row->elsewhere : 0;
        found->device_address = row ? row->device_address : 0;
    }
    pthread_rwlock_unlock(&lock);
    return found != NULL;
}

// Mirrored memory is GPU memory only for the box of the current context; for others it is host
// memory.
static bool is_of_current(const struct allocation *memory)
{
    struct object *context;
    return thread_context_object(&context) == CUDA_SUCCESS && context->session == memory->session;
}

bool memory_on_gpu(uint64_t *address, struct allocation *found)
{
    if (!memory_find(*address, found))
        return false;
    if (!found->host)
        return true;
    if (!found->mirrored || !is_of_current(found))
        return false;
    *address = found->device_address + (*address - found->base);
    return !found->elsewhere || memory_find(*address, found);
}

void memory_forget_context(uint64_t context)
{
    pthread_rwlock_wrlock(&lock);
    size_t kept = 0;
    for (size_t i = 0; i < allocations.count; i++) {
        struct allocation *row = allocations.rows[i].value;
        if (!row->host && !row->pool && !row->memory && !row->of_graph && row->context == context)
            free(row);
        else
            allocations.rows[kept++] = allocations.rows[i];
    }
    allocations.count = kept;
    pthread_rwlock_unlock(&lock);
}

CUresult memory_enter(const struct allocation *allocation, bool *entered)
{
    struct object *current;
    *entered = false;
    if (thread_context_object(&current) == CUDA_SUCCESS && current->session == allocation->session)
        return CUDA_SUCCESS;
    CUresult result = thread_push_context((CUcontext)(uintptr_t)allocation->context);
    *entered = result == CUDA_SUCCESS;
    return result;
}

void memory_leave(bool entered)
{
    if (entered)
        thread_pop_context(NULL);
}
