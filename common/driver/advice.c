// SPDX-License-Identifier: BSD-3-Clause
#include "common/driver/advice.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_BIT = 63, DEVICES_MAX = 63, NOWHERE = -2, ON_HOST = -1 };

// The run that holds ADDRESS.
static size_t advice_find(const struct advice_table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (table->runs[middle].base <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Has a run begin at ADDRESS; there is room for it.
static size_t advice_split(struct advice_table *table, uint64_t address)
{
    size_t at = advice_find(table, address);
    if (table->runs[at].base == address)
        return at;
    memmove(&table->runs[at + 2], &table->runs[at + 1],
            (table->count - at - 1) * sizeof(*table->runs));
    table->runs[at + 1] = table->runs[at];
    table->runs[at + 1].base = address;
    table->count++;
    return at + 1;
}

// Neighbours that are alike become one.
static void advice_join(struct advice_table *table)
{
    size_t kept = 0;
    for (size_t i = 1; i < table->count; i++)
        if (memcmp(&table->runs[i].advice, &table->runs[kept].advice, sizeof(struct advice)) != 0)
            table->runs[++kept] = table->runs[i];
    table->count = kept + 1;
}

bool advice_set(struct advice_table *table, uint64_t base, uint64_t size,
                void (*change)(struct advice *advice, const void *argument), const void *argument)
{
    struct advice_run *runs = realloc(table->runs, (table->count + 3) * sizeof(*runs));
    if (!runs)
        return false;
    table->runs = runs;
    if (!table->count) {
        memset(&runs[0], 0, sizeof(runs[0]));
        table->count = 1;
    }
    size_t first = advice_split(table, base), end = advice_split(table, base + size);
    for (size_t i = first; i < end; i++)
        change(&table->runs[i].advice, argument);
    advice_join(table);
    return true;
}

static void forget(struct advice *advice, const void *unused)
{
    memset(advice, 0, sizeof(*advice));
}

void advice_forget(struct advice_table *table, uint64_t base, uint64_t size)
{
    if (table->count)
        (void)advice_set(table, base, size, forget, NULL);
}

struct advised {
    CUmem_advise advise;
    CUmemLocation location;
};

static uint64_t bit_of(CUmemLocation location)
{
    return 1ULL << (location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : HOST_BIT);
}

static void advice_take(struct advice *advice, const void *argument)
{
    const struct advised *given = argument;
    switch ((int)given->advise) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: advice->read_mostly = true; break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: advice->read_mostly = false; break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: advice->preferred = given->location; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        memset(&advice->preferred, 0, sizeof(advice->preferred));
        break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: advice->accessed_by |= bit_of(given->location); break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: advice->accessed_by &= ~bit_of(given->location); break;
    }
}

CUresult advice_give(struct advice_table *table, uint64_t base, uint64_t size, CUmem_advise advise,
                     CUmemLocation location)
{
    struct advised given = {advise, location};
    if (!size || (int)advise < CU_MEM_ADVISE_SET_READ_MOSTLY ||
        (int)advise > CU_MEM_ADVISE_UNSET_ACCESSED_BY ||
        (location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= DEVICES_MAX))
        return CUDA_ERROR_INVALID_VALUE;
    return advice_set(table, base, size, advice_take, &given) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_OUT_OF_MEMORY;
}

static void note_prefetch(struct advice *advice, const void *argument)
{
    advice->prefetched = *(const CUmemLocation *)argument;
}

CUresult advice_prefetched(struct advice_table *table, uint64_t base, uint64_t size,
                           CUmemLocation location)
{
    return advice_set(table, base, size, note_prefetch, &location) ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_OUT_OF_MEMORY;
}

// ---- attributes of a whole range ----

static bool advice_same(CUmemLocation a, CUmemLocation b)
{
    return a.type == b.type && a.id == b.id;
}

static struct advice common_to(const struct advice_table *table, uint64_t base, uint64_t size)
{
    struct advice all = {0};
    if (!table->count)
        return all;
    size_t at = advice_find(table, base);
    all = table->runs[at].advice;
    while (++at < table->count && table->runs[at].base < base + size) {
        const struct advice *next = &table->runs[at].advice;
        all.read_mostly = all.read_mostly && next->read_mostly;
        all.accessed_by &= next->accessed_by;
        if (!advice_same(all.preferred, next->preferred))
            memset(&all.preferred, 0, sizeof(all.preferred));
        if (!advice_same(all.prefetched, next->prefetched))
            memset(&all.prefetched, 0, sizeof(all.prefetched));
    }
    return all;
}

// As older calls number places.
static int advice_place(CUmemLocation location)
{
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        return location.id;
    return (int)location.type ? ON_HOST : NOWHERE;
}

static int identity(CUmemLocation location)
{
    return (int)location.type ? location.type == CU_MEM_LOCATION_TYPE_HOST ? 0 : location.id
                              : NOWHERE;
}

static void list_devices(uint64_t bits, int *list, size_t room)
{
    size_t count = 0;
    for (int device = 0; device < DEVICES_MAX && count < room; device++)
        if (bits >> device & 1)
            list[count++] = device;
    if (bits >> HOST_BIT && count < room)
        list[count++] = ON_HOST;
    while (count < room)
        list[count++] = NOWHERE;
}

CUresult advice_ask(const struct advice_table *table, uint64_t base, uint64_t size,
                    CUmem_range_attribute attribute, void *data, size_t data_size)
{
    if (!data || !size || !data_size || data_size % sizeof(int) ||
        ((int)attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY && data_size != sizeof(int)))
        return CUDA_ERROR_INVALID_VALUE;
    struct advice all = common_to(table, base, size);
    int *out = data;
    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *out = all.read_mostly; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *out = advice_place(all.preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        list_devices(all.accessed_by, out, data_size / sizeof(int));
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = advice_place(all.prefetched); break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *out = (int)all.preferred.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *out = identity(all.preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *out = (int)all.prefetched.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *out = identity(all.prefetched); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
