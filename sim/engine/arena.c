// SPDX-License-Identifier: BSD-3-Clause
// Allocates next-fit, so that a freed address is reused late and an access after free is detected.
// Arenas lie at random addresses in a region that neither programs nor libraries use, because
// clients reserve the same addresses in their processes, perhaps for several boxes.
#include "sim/engine/arena.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "common/base/scope.h"

#define REGION_START UINT64_C(0x200000000000)
#define REGION_SIZE UINT64_C(0x300000000000)
// the region of arenas near the kernel's own mappings
#define NEAR_START UINT64_C(0x7e8000000000)
#define NEAR_SIZE UINT64_C(0x007c00000000)
#define PLACE_ALIGNMENT (UINT64_C(1) << 32)
#define PLACE_ATTEMPTS 64
#define PAGE ((uint64_t)4096)

struct span {
    uint64_t start;
    uint64_t end;
};

struct address_arena {
    pthread_mutex_t lock;
    struct span *spans; // free spans, by address
    size_t count;
    size_t capacity;
    uint64_t cursor; // where the next search begins
};

static bool near;

void arenas_lie_near(void)
{
    near = true;
}

static void *reserve_at(void *place, size_t size, int access, int flags)
{
    void *address =
        mmap(place, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return address == MAP_FAILED ? NULL : address;
}

static void *arena_reserve(size_t size, int access)
{
#ifndef __SANITIZE_THREAD__ // its shadow memory lacks that region
    for (int i = 0; i < PLACE_ATTEMPTS; i++) {
        uint64_t chance;
        if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
            break;
        uint64_t places = ((near ? NEAR_SIZE : REGION_SIZE) - size) / PLACE_ALIGNMENT;
        uint64_t place = (near ? NEAR_START : REGION_START) + chance % places * PLACE_ALIGNMENT;
        void *address = reserve_at((void *)place, size, access, MAP_FIXED_NOREPLACE);
        if (address == (void *)place)
            return address;
        if (address)
            munmap(address, size);
    }
#endif
    return reserve_at(NULL, size, access, 0);
}

static struct address_arena *arena_new(void *start, size_t span)
{
    struct address_arena *arena = calloc(1, sizeof(*arena));
    struct span *spans = malloc(sizeof(struct span) * 16);
    if (!arena || !spans || !start) {
        if (start)
            munmap(start, span);
        free(spans);
        free(arena);
        return NULL;
    }
    madvise(start, span, MADV_DONTDUMP);
    pthread_mutex_init(&arena->lock, NULL);
    arena->spans = spans;
    arena->capacity = 16;
    arena->count = 1;
    arena->spans[0].start = (uint64_t)(uintptr_t)start;
    arena->spans[0].end = arena->spans[0].start + span;
    return arena;
}

struct address_arena *arena_create(size_t size)
{
    size_t span = 0;
    void *start = NULL;
    for (unsigned factor = 4; factor && !start; factor /= 2) {
        span = size * factor + ((size_t)64 << 20);
        start = arena_reserve(span, PROT_READ | PROT_WRITE);
    }
    if (start)
        madvise(start, span, MADV_HUGEPAGE);
    return arena_new(start, span);
}

struct address_arena *arena_create_empty(size_t size)
{
    return arena_new(arena_reserve(size, PROT_NONE), size);
}

static uint64_t arena_round_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

static int insert_span(struct address_arena *arena, size_t at, uint64_t start, uint64_t end)
{
    if (arena->count == arena->capacity) {
        struct span *spans = realloc(arena->spans, 2 * arena->capacity * sizeof(struct span));
        if (!spans)
            return -ENOMEM;
        arena->spans = spans;
        arena->capacity *= 2;
    }
    memmove(&arena->spans[at + 1], &arena->spans[at], (arena->count - at) * sizeof(struct span));
    arena->spans[at].start = start;
    arena->spans[at].end = end;
    arena->count++;
    return 0;
}

static void remove_span(struct address_arena *arena, size_t at)
{
    arena->count--;
    memmove(&arena->spans[at], &arena->spans[at + 1], (arena->count - at) * sizeof(struct span));
}

// Cuts [address, address + size) out of a free span.
static int arena_cut(struct address_arena *arena, size_t at, uint64_t address, size_t size)
{
    struct span span = arena->spans[at];
    if (address > span.start && address + size < span.end) {
        if (insert_span(arena, at + 1, address + size, span.end))
            return -ENOMEM;
        arena->spans[at].end = address;
    } else if (address > span.start) {
        arena->spans[at].end = address;
    } else if (address + size < span.end) {
        arena->spans[at].start = address + size;
    } else {
        remove_span(arena, at);
    }
    return 0;
}

// Finds the first span in [from, to) with enough space and stores the piece's address in *address.
static size_t search(const struct address_arena *arena, uint64_t from, uint64_t to, size_t size,
                     size_t alignment, uint64_t *address)
{
    for (size_t i = 0; i < arena->count; i++) {
        uint64_t start = arena->spans[i].start > from ? arena->spans[i].start : from;
        if (arena->spans[i].end <= start)
            continue;
        if (start >= to)
            break;
        start = arena_round_up(start, alignment);
        if (start < arena->spans[i].end && arena->spans[i].end - start >= size) {
            *address = start;
            return i;
        }
    }
    return SIZE_MAX;
}

int arena_take(struct address_arena *arena, size_t size, size_t alignment, uint64_t *address)
{
    SCOPED_LOCK(&arena->lock);
    size_t at = search(arena, arena->cursor, UINT64_MAX, size, alignment, address);
    if (at == SIZE_MAX)
        at = search(arena, 0, arena->cursor, size, alignment, address);
    int result = at == SIZE_MAX ? -ENOMEM : arena_cut(arena, at, *address, size);
    if (!result)
        arena->cursor = *address + size;
    return result;
}

int arena_take_at(struct address_arena *arena, uint64_t address, size_t size)
{
    int result = -ENOMEM;
    SCOPED_LOCK(&arena->lock);
    for (size_t i = 0; i < arena->count && result; i++) {
        const struct span *span = &arena->spans[i];
        if (span->start <= address && address < span->end && size <= span->end - address) {
            result = arena_cut(arena, i, address, size);
            break;
        }
    }
    return result;
}

void arena_give(struct address_arena *arena, uint64_t address, size_t size)
{
    uint64_t first = arena_round_up(address, PAGE), last = (address + size) & ~(PAGE - 1);
    if (last > first)
        madvise((void *)first, last - first, MADV_DONTNEED);

    SCOPED_LOCK(&arena->lock);
    size_t at = 0, end = arena->count;
    while (at < end) {
        size_t middle = (at + end) / 2;
        if (arena->spans[middle].start < address)
            at = middle + 1;
        else
            end = middle;
    }
    bool joins_next = at < arena->count && arena->spans[at].start == address + size;
    bool joins_previous = at > 0 && arena->spans[at - 1].end == address;
    if (joins_next && joins_previous) {
        arena->spans[at - 1].end = arena->spans[at].end;
        remove_span(arena, at);
    } else if (joins_next) {
        arena->spans[at].start = address;
    } else if (joins_previous) {
        arena->spans[at - 1].end = address + size;
    } else {
        // Without memory for the entry the addresses are lost, which does no harm.
        (void)insert_span(arena, at, address, address + size);
    }
}
