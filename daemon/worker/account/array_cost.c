// SPDX-License-Identifier: BSD-3-Clause
// Only the driver knows the memory of an array, which has no address. It reports the requirements
// of an array whose memory is mapped later, so the worker creates such an array of equal form as a
// sample. Destroying an array waits for the GPU (seen on an H100), so a sample is destroyed when
// the next array of the context is.
#include "daemon/worker/account/array_cost.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/driver/array_element.h"
#include "common/base/scope.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/core/gpus.h"

#define TILE_BYTES 64u // a row of the smallest piece that arrays are made of
#define TILE_ROWS 8u
#define BLOCK ((uint64_t)64 << 10)
#define MAPPED_LATER (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)

enum { SIDE_MAX = 1 << 18 }; // of an array, in texels

struct array_cost {
    const void *array; // NULL: not made yet
    CUcontext context;
    int device;
    uint64_t share; // of the pages of its context's small arrays; 0: it has pages of its own
    struct array_cost *next;
};

struct sample {
    CUcontext context;
    void *array;
    bool is_mipmap;
    struct sample *next;
};

enum { SAMPLES_MAX = 1024 }; // programs that destroy no array

static struct array_cost *costs;
static struct sample *samples;
static _Atomic unsigned sample_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// ---- how much ----

static uint64_t array_cost_rounded(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// To whole groups of pieces, which are powers of two up to MOST.
static uint64_t array_cost_grouped(uint64_t pieces, uint64_t most)
{
    uint64_t group = 1;

    while (group < pieces && group < most)
        group *= 2;
    return array_cost_rounded(pieces, group);
}

static uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct array_element element;

    if (!array_element_find(d->Format, d->NumChannels, &element))
        element = (struct array_element){.bytes = 16, .block = 1};
    uint64_t row = array_cost_rounded(
        array_cost_rounded(d->Width, element.block) / element.block * element.bytes, TILE_BYTES);
    uint64_t rows = d->Height ? array_cost_rounded(d->Height, element.block) / element.block : 1;
    uint64_t tiles = array_cost_grouped(array_cost_rounded(rows, TILE_ROWS) / TILE_ROWS, 16);
    uint64_t slices = d->Depth ? d->Depth : 1;

    return row * tiles * TILE_ROWS *
           (array_is_layered(d) ? slices : array_cost_grouped(slices, 32));
}

uint64_t array_cost_most(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels)
{
    unsigned most = array_levels_max(descriptor);
    uint64_t bytes = 0;

    for (unsigned i = 0; i < most && (i < levels || !i); i++) {
        CUDA_ARRAY3D_DESCRIPTOR level = array_level(descriptor, i);
        bytes += level_bytes(&level);
    }
    return bytes < BLOCK ? bytes : array_cost_rounded(bytes, BLOCK);
}

// ---- samples ----

// Keeps one until the context's next array is destroyed.
static void array_cost_keep_sample(struct sample *sample)
{
    SCOPED_LOCK(&lock);
    sample->next = samples;
    samples = sample;
    sample_count++;
}

// Takes the samples of CONTEXT out of the list.
static struct sample *array_cost_take_samples(CUcontext context)
{
    struct sample *taken = NULL;

    SCOPED_LOCK(&lock);
    for (struct sample **at = &samples; *at;) {
        struct sample *sample = *at;
        if (sample->context != context) {
            at = &sample->next;
            continue;
        }
        *at = sample->next;
        sample->next = taken;
        taken = sample;
        sample_count--;
    }
    return taken;
}

static void end_samples(CUcontext context, bool destroy)
{
    for (struct sample *sample = array_cost_take_samples(context), *next; sample; sample = next) {
        next = sample->next;
        if (destroy && sample->is_mipmap)
            driver.cuMipmappedArrayDestroy(sample->array);
        else if (destroy)
            driver.cuArrayDestroy(sample->array);
        free(sample);
    }
}

static CUresult make_sample(const CUDA_ARRAY3D_DESCRIPTOR *later, unsigned levels, CUdevice device,
                            void **array, CUDA_ARRAY_MEMORY_REQUIREMENTS *wanted)
{
    CUresult result;

    if (levels) {
        result = driver.cuMipmappedArrayCreate((CUmipmappedArray *)array, later, levels);
        return result != CUDA_SUCCESS
                   ? result
                   : driver.cuMipmappedArrayGetMemoryRequirements(wanted, *array, device);
    }
    result = driver.cuArray3DCreate_v2((CUarray *)array, later);
    return result != CUDA_SUCCESS ? result
                                  : driver.cuArrayGetMemoryRequirements(wanted, *array, device);
}

// 0: the driver does not know, or there are too many samples.
static uint64_t array_cost_ask(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *later,
                               unsigned levels, CUdevice device)
{
    CUDA_ARRAY_MEMORY_REQUIREMENTS wanted = {0};

    struct sample *sample = sample_count < SAMPLES_MAX ? calloc(1, sizeof(*sample)) : NULL;
    if (!sample)
        return 0;
    sample->context = context;
    sample->is_mipmap = levels != 0;
    CUresult result = make_sample(later, levels, device, &sample->array, &wanted);
    if (sample->array)
        array_cost_keep_sample(sample);
    else
        free(sample);
    return result == CUDA_SUCCESS ? wanted.size : 0;
}

static bool can_ask(unsigned levels)
{
    return levels ? driver.cuMipmappedArrayGetMemoryRequirements != NULL
                  : driver.cuArrayGetMemoryRequirements != NULL;
}

// The driver reports blocks, of which small arrays have less than one (seen on an H100).
static uint64_t array_bytes(CUcontext context, int device,
                            const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels)
{
    CUdevice handle = gpus.list[device].handle;
    uint64_t most = array_cost_most(descriptor, levels);
    CUDA_ARRAY3D_DESCRIPTOR later = *descriptor;

    if (most < BLOCK || !can_ask(levels))
        return most;
    later.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
    uint64_t wanted = array_cost_ask(context, &later, levels, handle);
    return wanted ? wanted : most;
}

// ---- counting it ----

// Under lock: the pages that the small arrays of a context share, of which each holds so many of a
// size.
static bool count_small(CUcontext context, int device)
{
    uint64_t page = gpus.list[device].page, sum = 0;

    for (const struct array_cost *c = costs; c; c = c->next)
        if (c->context == context && c->device == device)
            sum += c->share;
    return charge_set(context, PART_SMALL_ARRAYS, context, device, array_cost_rounded(sum, page));
}

// Under lock.
static void unlink_cost(const struct array_cost *cost)
{
    struct array_cost **at = &costs;

    while (*at != cost)
        at = &(*at)->next;
    *at = cost->next;
}

static void array_cost_take_out(struct array_cost *cost)
{
    unlink_cost(cost);
    if (cost->share)
        count_small(cost->context, cost->device);
    else
        charge_drop(cost);
    free(cost);
}

static bool array_cost_count(struct array_cost *cost, uint64_t bytes)
{
    uint64_t page = gpus.list[cost->device].page;

    SCOPED_LOCK(&lock);
    cost->next = costs;
    costs = cost;
    if (bytes > page / 2) {
        uint64_t whole = page ? array_cost_rounded(bytes, page) : bytes;
        return charge_set(cost, 0, cost->context, cost->device, whole);
    }
    cost->share = page / (page / bytes);
    return count_small(cost->context, cost->device);
}

CUresult array_cost_take(CUcontext context, int device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                         unsigned levels, struct array_cost **out)
{
    *out = NULL;
    if (!charges_apply(device) || descriptor->Flags & MAPPED_LATER || !descriptor->Width)
        return CUDA_SUCCESS;
    // No GPU has more, and the arithmetic here none too large.
    if (descriptor->Width > SIDE_MAX || descriptor->Height > SIDE_MAX ||
        descriptor->Depth > SIDE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    struct array_cost *cost = calloc(1, sizeof(*cost));
    if (!cost)
        return CUDA_ERROR_OUT_OF_MEMORY;
    cost->context = context;
    cost->device = device;
    if (!array_cost_count(cost, array_bytes(context, device, descriptor, levels))) {
        array_cost_give(cost);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = cost;
    return CUDA_SUCCESS;
}

void array_cost_is(struct array_cost *cost, const void *array)
{
    SCOPED_LOCK(&lock);
    if (cost)
        cost->array = array;
}

void array_cost_give(struct array_cost *cost)
{
    SCOPED_LOCK(&lock);
    if (cost)
        array_cost_take_out(cost);
}

// Returns its context, NULL if nothing was counted.
static CUcontext end_cost(const void *array)
{
    SCOPED_LOCK(&lock);
    struct array_cost *cost = costs;
    while (cost && cost->array != array)
        cost = cost->next;
    if (!cost)
        return NULL;
    CUcontext context = cost->context;
    array_cost_take_out(cost);
    return context;
}

void array_cost_end(const void *array)
{
    CUcontext context = end_cost(array);

    if (context)
        end_samples(context, true);
}

void array_costs_drop(CUcontext context)
{
    end_samples(context, false);
    SCOPED_LOCK(&lock);
    for (struct array_cost *cost = costs, *next; cost; cost = next) {
        next = cost->next;
        if (cost->context != context)
            continue;
        unlink_cost(cost);
        free(cost);
    }
}
