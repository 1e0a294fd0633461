// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/graphs/graph_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/handle_table.h"
#include "common/base/scope.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum { BUCKETS = 1 << 14 };

struct graph_part {
    uint64_t name; // a handle, or a number: one more than the place in `numbered`
    enum handle_kind kind;
    void *object;
    struct graph_part *owner, *first, *next, *previous; // what it is inside, what is inside it
    struct graph_part *alike;                           // next of the bucket
    struct context_set contexts; // that it needs by itself, not by what is inside
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph_part *buckets[BUCKETS];
static struct graph_part **numbered; // NULL: the number is free
static uint32_t numbers, first_free;

static struct graph_part **graph_parts_bucket(const void *object)
{
    return &buckets[((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}

static struct graph_part *graph_parts_find(const void *object)
{
    struct graph_part *part = *graph_parts_bucket(object);

    while (part && part->object != object)
        part = part->alike;
    return part;
}

static bool is_handle(uint64_t name)
{
    return handle_type(name) != 0;
}

static struct graph_part *graph_parts_part_of(uint64_t handle)
{
    enum handle_kind kind = (enum handle_kind)handle_type(handle);
    bool has_part = kind == HANDLE_GRAPH || kind == HANDLE_NODE;

    return has_part && handle_find(session.handles, handle, kind)
               ? session.notes[handle_index(handle)].part
               : NULL;
}

static struct graph_part *named(uint64_t name)
{
    if (is_handle(name))
        return graph_parts_part_of(name);
    return name && name <= numbers ? numbered[name - 1] : NULL;
}

static void enter_owner(struct graph_part *part, struct graph_part *owner)
{
    part->owner = owner;
    part->previous = NULL;
    part->next = owner ? owner->first : NULL;
    if (part->next)
        part->next->previous = part;
    if (owner)
        owner->first = part;
}

static void leave_owner(struct graph_part *part)
{
    if (part->previous)
        part->previous->next = part->next;
    else if (part->owner)
        part->owner->first = part->next;
    if (part->next)
        part->next->previous = part->previous;
}

static struct graph_part *graph_parts_add(enum handle_kind kind, void *object, uint64_t name,
                                          struct graph_part *owner)
{
    struct graph_part *part = calloc(1, sizeof(*part));

    if (!part)
        return NULL;
    part->kind = kind;
    part->object = object;
    part->name = name;
    part->alike = *graph_parts_bucket(object);
    *graph_parts_bucket(object) = part;
    enter_owner(part, owner);
    return part;
}

static uint64_t graph_parts_take_number(struct graph_part *part)
{
    while (first_free < numbers && numbered[first_free])
        first_free++;
    if (first_free == numbers) {
        uint32_t more = numbers ? numbers * 2 : 256;
        struct graph_part **grown = realloc(numbered, more * sizeof(struct graph_part *));
        if (!grown)
            return 0;
        for (uint32_t i = numbers; i < more; i++)
            grown[i] = NULL;
        numbered = grown;
        numbers = more;
    }
    numbered[first_free] = part;
    return first_free + 1;
}

static void free_number(uint64_t number)
{
    numbered[number - 1] = NULL;
    if (number - 1 < first_free)
        first_free = (uint32_t)number - 1;
}

static void graph_parts_drop(struct graph_part *part);

static void graph_parts_drop_inside(struct graph_part *part)
{
    while (part->first)
        graph_parts_drop(part->first);
}

static void graph_parts_drop(struct graph_part *part)
{
    struct graph_part **at = graph_parts_bucket(part->object);

    graph_parts_drop_inside(part);
    leave_owner(part);
    while (*at != part)
        at = &(*at)->alike;
    *at = part->alike;
    if (is_handle(part->name))
        handle_release(session.handles, part->name, part->kind);
    else if (part->name)
        free_number(part->name);
    context_set_clear(&part->contexts);
    free(part);
}

void part_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
               uint64_t owner)
{
    SCOPED_LOCK(&lock);
    // The driver may reuse the address of an object that was destroyed without a report.
    struct graph_part *old = graph_parts_find(object);
    if (old)
        graph_parts_drop(old);
    serve_bind(serve, kind, handle, object, 0);
    if (serve_failed(serve))
        return;
    struct graph_part *part = graph_parts_add(kind, object, handle, graph_parts_part_of(owner));
    session.notes[handle_index(handle)].part = part;
    if (!part) {
        handle_release(session.handles, handle, kind);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
}

uint64_t part_name(enum handle_kind kind, void *object, uint64_t owner)
{
    if (!object)
        return 0;
    SCOPED_LOCK(&lock);
    struct graph_part *part = graph_parts_find(object);
    if (part && part->kind == kind)
        return part->name;
    if (part)
        graph_parts_drop(part); // the driver has given its place to another kind of object
    part = graph_parts_add(kind, object, 0, named(owner));
    if (part && !(part->name = graph_parts_take_number(part))) {
        graph_parts_drop(part);
        part = NULL;
    }
    return part ? part->name : 0;
}

uint64_t part_known(const void *object)
{
    SCOPED_LOCK(&lock);
    const struct graph_part *part = graph_parts_find(object);
    uint64_t name = part && is_handle(part->name) ? part->name : 0;
    return name;
}

uint64_t part_owner(uint64_t handle)
{
    SCOPED_LOCK(&lock);
    const struct graph_part *part = graph_parts_part_of(handle);
    uint64_t name = part && part->owner ? part->owner->name : 0;
    return is_handle(name) ? name : 0;
}

size_t part_graphs(CUgraphNode node, CUgraph *graphs, size_t room)
{
    SCOPED_LOCK(&lock);
    const struct graph_part *part = graph_parts_find(node);
    size_t count = 0;
    for (const struct graph_part *at = part ? part->first : NULL; at; at = at->next) {
        if (at->kind != HANDLE_GRAPH)
            continue;
        if (count < room)
            graphs[count] = at->object;
        count++;
    }
    return count;
}

void part_drop(uint64_t handle, enum part_reach reach)
{
    SCOPED_LOCK(&lock);
    struct graph_part *part = graph_parts_part_of(handle);
    if (part && reach == PART_WHOLE)
        graph_parts_drop(part);
    else if (part)
        graph_parts_drop_inside(part);
}

void part_move(uint64_t handle, uint64_t owner)
{
    SCOPED_LOCK(&lock);
    struct graph_part *part = graph_parts_part_of(handle), *to = graph_parts_part_of(owner);
    if (!part)
        return;
    leave_owner(part);
    enter_owner(part, to);
}

bool part_need(uint64_t handle, const struct context_set *contexts, enum part_need_how how)
{
    SCOPED_LOCK(&lock);
    struct graph_part *part = graph_parts_part_of(handle);
    if (part && how == PART_NEEDS_ONLY)
        context_set_clear(&part->contexts);
    return !part || context_set_join(&part->contexts, contexts);
}

static bool graph_parts_collect(const struct graph_part *part, struct context_set *out)
{
    for (const struct graph_part *at = part->first; at; at = at->next)
        if (!graph_parts_collect(at, out))
            return false;
    return context_set_join(out, &part->contexts);
}

bool part_contexts(uint64_t handle, struct context_set *out)
{
    SCOPED_LOCK(&lock);
    const struct graph_part *part = graph_parts_part_of(handle);
    return !part || graph_parts_collect(part, out);
}

static void give_handle(struct serve *serve, const struct wire_name *name)
{
    struct graph_part *part = is_handle(name->number) ? NULL : named(name->number);

    if (!part || handle_type(name->handle) != (unsigned)part->kind) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    serve_bind(serve, part->kind, name->handle, part->object, 0);
    if (serve_failed(serve))
        return;
    session.notes[handle_index(name->handle)].part = part;
    free_number(part->name);
    part->name = name->handle;
}

void serve_graph_name(struct serve *serve, const struct args_graph_name *args)
{
    const uint8_t *at = (const void *)(args + 1);
    struct wire_name name;

    SCOPED_LOCK(&lock);
    for (uint32_t left = args->bytes; left >= sizeof(name) && !serve_failed(serve);
         left -= (uint32_t)sizeof(name), at += sizeof(name)) {
        memcpy(&name, at, sizeof(name));
        give_handle(serve, &name);
    }
}
