// SPDX-License-Identifier: BSD-3-Clause
// The process's handle table: index and generation to object.
#include "sim/engine/handle.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "sim/engine/context.h"
#include "sim/engine/device.h"

// handle: kind (8 bits) | generation (28) | index (24) | 0000; never a usable address.
#define INDEX_SHIFT 4
#define INDEX_BITS 24
#define GENERATION_SHIFT (INDEX_SHIFT + INDEX_BITS)
#define GENERATION_MASK ((UINT64_C(1) << 28) - 1)
#define KIND_SHIFT 56

struct handle_slot {
    struct sim_object *object; // NULL: free
    uint32_t generation;
    uint32_t next_free; // index + 1
};

static struct {
    pthread_mutex_t lock;
    struct handle_slot *slots;
    uint32_t count;
    uint32_t capacity;
    uint32_t first_free; // index + 1; 0: the list is empty
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

void object_init(struct sim_object *object, enum object_kind kind, struct context *context,
                 void (*destroy)(struct sim_object *))
{
    object->kind = kind;
    atomic_init(&object->references, 1);
    object->handle = 0;
    object->context = context;
    object->next = object->previous = NULL;
    object->destroy = destroy;
    if (context)
        object_hold(&context->object);
}

void object_hold(struct sim_object *object)
{
    atomic_fetch_add(&object->references, 1);
}

void object_put(struct sim_object *object)
{
    if (atomic_fetch_sub(&object->references, 1) != 1)
        return;
    struct context *context = object->context;
    object->destroy(object);
    if (context)
        object_put(&context->object);
}

bool handle_looks_like(enum object_kind kind, const void *handle)
{
    return (uintptr_t)handle >> KIND_SHIFT == kind;
}

// Takes a free slot. Called under the table's lock.
static uint32_t handle_take_slot(void)
{
    if (table.first_free) {
        uint32_t index = table.first_free - 1;
        table.first_free = table.slots[index].next_free;
        return index;
    }
    if (table.count == table.capacity) {
        uint32_t capacity = table.capacity ? 2 * table.capacity : 256;
        if (capacity > 1u << INDEX_BITS)
            return UINT32_MAX;
        struct handle_slot *slots = realloc(table.slots, capacity * sizeof(*slots));
        if (!slots)
            return UINT32_MAX;
        table.slots = slots;
        table.capacity = capacity;
    }
    table.slots[table.count].generation = 1;
    return table.count++;
}

CUresult handle_publish(struct sim_object *object)
{
    pthread_mutex_lock(&table.lock);
    uint32_t index = handle_take_slot();
    if (index != UINT32_MAX) {
        struct handle_slot *slot = &table.slots[index];
        slot->object = object;
        object->handle = (uint64_t)object->kind << KIND_SHIFT |
                         (uint64_t)slot->generation << GENERATION_SHIFT |
                         (uint64_t)index << INDEX_SHIFT;
    }
    pthread_mutex_unlock(&table.lock);
    if (index == UINT32_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (object->context)
        context_adopt(object->context, object);
    return CUDA_SUCCESS;
}

// Returns the slot of a handle. Called under the table's lock.
static struct handle_slot *handle_find_slot(uint64_t handle)
{
    uint64_t index = (handle >> INDEX_SHIFT) & ((UINT64_C(1) << INDEX_BITS) - 1);
    if (index >= table.count)
        return NULL;
    struct handle_slot *slot = &table.slots[index];
    return slot->object && slot->object->handle == handle ? slot : NULL;
}

bool handle_revoke(struct sim_object *object)
{
    pthread_mutex_lock(&table.lock);
    struct handle_slot *slot = object->handle ? handle_find_slot(object->handle) : NULL;
    bool found = slot && slot->object == object;
    if (found) {
        slot->object = NULL;
        slot->generation = (slot->generation + 1) & GENERATION_MASK;
        slot->next_free = table.first_free;
        table.first_free = (uint32_t)(slot - table.slots) + 1;
    }
    pthread_mutex_unlock(&table.lock);
    if (found && object->context)
        context_disown(object->context, object);
    return found;
}

void handle_stale(enum object_kind kind)
{
    if (!device_config()->crashes)
        return;
    log_error("a handle was given of what is gone, kind=%d", (int)kind);
    abort();
}

void *handle_peek(enum object_kind kind, const void *handle)
{
    struct sim_object *object = NULL;
    uint64_t value = (uintptr_t)handle;
    if (value >> KIND_SHIFT != (uint64_t)kind)
        return NULL;
    SCOPED_LOCK(&table.lock);
    struct handle_slot *slot = handle_find_slot(value);
    if (slot) {
        object = slot->object;
        object_hold(object);
    }
    return object;
}

void *handle_get(enum object_kind kind, const void *handle)
{
    void *object = handle_peek(kind, handle);
    if (!object && handle_looks_like(kind, handle))
        handle_stale(kind);
    return object;
}

void *handle_next(enum object_kind kind, uint32_t *position)
{
    struct sim_object *found = NULL;
    SCOPED_LOCK(&table.lock);
    while (*position < table.count && !found) {
        struct sim_object *object = table.slots[(*position)++].object;
        if (object && object->kind == kind)
            found = object;
    }
    if (found)
        object_hold(found);
    return found;
}
