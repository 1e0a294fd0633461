// SPDX-License-Identifier: BSD-3-Clause
// Slots are in chunks that never move, so that lookups need no lock while the table grows.
#include "common/base/handle_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/scope.h"

enum {
    CHUNK_SLOTS = 1024,
    CHUNKS = HANDLE_INDEX_LIMIT / CHUNK_SLOTS,
    GENERATION_SHIFT = 28,
    DOMAIN_SHIFT = 48,
    TYPE_SHIFT = 56,
};
static const uint32_t GENERATION_MASK = (1u << 20) - 1;
static const uint32_t NO_INDEX = UINT32_MAX;

struct slot {
    _Atomic uint64_t handle; // 0: not in use
    _Atomic(void *) object;
    uint32_t generation; // of the last handle minted here
    uint32_t next_free;
};

struct handle_table {
    pthread_mutex_t lock; // everything but lookups
    unsigned domain;
    uint32_t used; // indexes below this were minted at least once
    // Oldest first: an index stays unused as long as possible before it is used again.
    uint32_t free_head, free_tail;
    _Atomic(struct slot *) chunks[CHUNKS];
};

struct handle_table *handle_table_new(unsigned domain)
{
    struct handle_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    pthread_mutex_init(&table->lock, NULL);
    table->domain = domain & 0xff;
    table->free_head = table->free_tail = NO_INDEX;
    return table;
}

void handle_table_free(struct handle_table **table)
{
    if (!*table)
        return;
    for (unsigned i = 0; i < CHUNKS; i++)
        free(atomic_load(&(*table)->chunks[i]));
    pthread_mutex_destroy(&(*table)->lock);
    free(*table);
    *table = NULL;
}

static struct slot *handle_table_find_slot(const struct handle_table *table, uint32_t index)
{
    if (index >= HANDLE_INDEX_LIMIT)
        return NULL;
    struct slot *chunk =
        atomic_load_explicit(&table->chunks[index / CHUNK_SLOTS], memory_order_acquire);
    return chunk ? &chunk[index % CHUNK_SLOTS] : NULL;
}

static struct slot *make_slot(struct handle_table *table, uint32_t index)
{
    if (index >= HANDLE_INDEX_LIMIT)
        return NULL;
    _Atomic(struct slot *) *place = &table->chunks[index / CHUNK_SLOTS];
    struct slot *chunk = atomic_load_explicit(place, memory_order_relaxed);
    if (!chunk) {
        chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
        if (!chunk)
            return NULL;
        atomic_store_explicit(place, chunk, memory_order_release);
    }
    return &chunk[index % CHUNK_SLOTS];
}

static struct slot *take_free_slot(struct handle_table *table, uint32_t *index)
{
    if (table->free_head == NO_INDEX) {
        struct slot *slot = make_slot(table, table->used);
        if (slot)
            *index = table->used++;
        return slot;
    }
    *index = table->free_head;
    struct slot *slot = handle_table_find_slot(table, *index);
    table->free_head = slot->next_free;
    if (table->free_head == NO_INDEX)
        table->free_tail = NO_INDEX;
    return slot;
}

static void give_back_slot(struct handle_table *table, struct slot *slot, uint32_t index)
{
    slot->next_free = NO_INDEX;
    if (table->free_tail == NO_INDEX)
        table->free_head = index;
    else
        handle_table_find_slot(table, table->free_tail)->next_free = index;
    table->free_tail = index;
}

// The object goes in first: a lookup that sees the handle sees the object.
static void handle_table_publish(struct slot *slot, uint64_t handle, void *object)
{
    atomic_store_explicit(&slot->object, object, memory_order_relaxed);
    atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

static bool type_valid(unsigned type)
{
    return type >= 1 && type <= HANDLE_TYPE_MAX;
}

uint64_t handle_mint(struct handle_table *table, unsigned type, void *object)
{
    uint32_t index;

    if (!type_valid(type) || !object)
        return 0;
    SCOPED_LOCK(&table->lock);
    struct slot *slot = take_free_slot(table, &index);
    if (!slot)
        return 0;
    slot->generation = (slot->generation + 1) & GENERATION_MASK;
    uint64_t handle = (uint64_t)type << TYPE_SHIFT | (uint64_t)table->domain << DOMAIN_SHIFT |
                      (uint64_t)slot->generation << GENERATION_SHIFT | index;
    handle_table_publish(slot, handle, object);
    return handle;
}

int handle_bind(struct handle_table *table, uint64_t handle, void *object)
{
    if (!type_valid(handle_type(handle)) || handle_index(handle) >= HANDLE_INDEX_LIMIT || !object)
        return -EINVAL;
    SCOPED_LOCK(&table->lock);
    struct slot *slot = make_slot(table, handle_index(handle));
    if (!slot)
        return -ENOMEM;
    if (atomic_load_explicit(&slot->handle, memory_order_relaxed))
        return -EEXIST;
    handle_table_publish(slot, handle, object);
    return 0;
}

void *handle_find(const struct handle_table *table, uint64_t handle, unsigned type)
{
    if (handle_type(handle) != type || !type_valid(type))
        return NULL;
    struct slot *slot = handle_table_find_slot(table, handle_index(handle));
    if (!slot || atomic_load_explicit(&slot->handle, memory_order_acquire) != handle)
        return NULL;
    void *object = atomic_load_explicit(&slot->object, memory_order_acquire);
    // The slot may have been given to a new handle between the two loads.
    if (atomic_load_explicit(&slot->handle, memory_order_relaxed) != handle)
        return NULL;
    return object;
}

void *handle_release(struct handle_table *table, uint64_t handle, unsigned type)
{
    if (handle_type(handle) != type || !type_valid(type))
        return NULL;
    SCOPED_LOCK(&table->lock);
    struct slot *slot = handle_table_find_slot(table, handle_index(handle));
    if (!slot || atomic_load_explicit(&slot->handle, memory_order_relaxed) != handle)
        return NULL;
    void *object = atomic_load_explicit(&slot->object, memory_order_relaxed);
    atomic_store_explicit(&slot->handle, 0, memory_order_relaxed);
    // Release order pairs with the object load of a lookup that raced with us.
    atomic_store_explicit(&slot->object, NULL, memory_order_release);
    if (handle_index(handle) < table->used)
        give_back_slot(table, slot, handle_index(handle));
    return object;
}

void handle_table_each(struct handle_table *table, unsigned type,
                       void (*visit)(void *argument, uint64_t handle, void *object), void *argument)
{
    for (uint32_t c = 0; c < CHUNKS; c++) {
        struct slot *chunk = atomic_load_explicit(&table->chunks[c], memory_order_acquire);
        for (uint32_t i = 0; chunk && i < CHUNK_SLOTS; i++) {
            uint64_t handle = atomic_load_explicit(&chunk[i].handle, memory_order_acquire);
            if (!handle || (type && handle_type(handle) != type))
                continue;
            void *object = handle_find(table, handle, handle_type(handle));
            if (object)
                visit(argument, handle, object);
        }
    }
}
