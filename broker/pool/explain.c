// SPDX-License-Identifier: BSD-3-Clause
// Counts the GPUs that pass each test of placement, in the order in which an administrator would
// check, and writes a sentence about the first test that too few GPUs pass.
#include "broker/pool/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/claims.h"
#include "broker/pool/queue.h"

// Each within the one before.
enum stage { PLACE, MODEL, MEMORY, CAPABLE, SHARING, LARGE, MODE, SERVICE, ROOM, LEFT, STAGES };

enum { DRAINS_NAMED = 3 };

struct census {
    const char
        *model; // the last one, since boxes have GPUs of one model, and whether it is asked for
    bool of_model;
    uint32_t passed[STAGES];
    uint64_t roomiest; // most bytes free for a share
    uint32_t drained, absent;
    const struct pool_gpu *drains[DRAINS_NAMED]; // one of each
    uint32_t drain_count;
};

// ---- counting ----

static bool explain_is_shared(const struct request *request)
{
    return request->parts[0].mode == GPU_SHARED;
}

static bool is_large(const struct request *request, const struct pool_gpu *gpu)
{
    for (uint32_t i = 0; i < request->part_count; i++) {
        const struct request_part *part = &request->parts[i];
        if (part->mode == GPU_EXCLUSIVE ||
            part->memory + gpu->context + gpu->reserved <= gpu->memory)
            return true;
    }
    return false;
}

static bool is_given_so(const struct request *request, const struct pool_gpu *gpu)
{
    for (uint32_t i = 0; i < request->part_count; i++)
        if (gpu_may_take_mode(gpu, request->parts[i].mode))
            return true;
    return false;
}

static bool explain_has_room(const struct request *request, const struct pool_gpu *gpu)
{
    for (uint32_t i = 0; i < request->part_count; i++) {
        const struct request_part *part = &request->parts[i];
        if (gpu_takes_mode(gpu, part->mode) && gpu_takes_tenant(gpu, request) &&
            (part->mode == GPU_EXCLUSIVE ? gpu->holders == 0
                                         : gpu_free_bytes(gpu) >= part->memory + gpu->context))
            return true;
    }
    return false;
}

// Equal models are equal pointers.
static bool is_of_model(const struct request *request, const struct pool_gpu *gpu,
                        struct census *census)
{
    if (census->model != gpu->model) {
        census->model = gpu->model;
        census->of_model = pattern_matches(request->model, gpu->model);
    }
    return census->of_model;
}

static bool explain_passes(const struct pool *pool, const struct request *request,
                           uint64_t sequence, struct pool_gpu *gpu, enum stage stage,
                           struct census *census)
{
    switch (stage) {
    case PLACE: return !request->index || request->index == gpu->index + 1;
    case MODEL: return is_of_model(request, gpu, census);
    case MEMORY: return gpu->memory >= request->min_memory;
    case CAPABLE: return gpu->capability >= request->min_capability;
    case SHARING: return parts_are_kind(request, gpu->parts);
    case LARGE: return is_large(request, gpu);
    case MODE: return is_given_so(request, gpu);
    case SERVICE: return request_may_use(request, gpu);
    case ROOM: return explain_has_room(request, gpu);
    case LEFT: return !plans_bar(pool, request, gpu) && !claims_bar(pool, gpu, sequence);
    case STAGES: break;
    }
    return false;
}

static void note_absence(struct census *census, const struct pool_gpu *gpu)
{
    const struct drain *drain = gpu_drain(gpu);
    uint32_t i;

    if (!drain) {
        census->absent += !gpu->present || !gpu->box->connected || gpu->box->hung_up;
        return;
    }
    census->drained++;
    for (i = 0; i < census->drain_count; i++)
        if (gpu_drain(census->drains[i]) == drain)
            return;
    if (i < DRAINS_NAMED)
        census->drains[census->drain_count++] = gpu;
    else
        census->drain_count = DRAINS_NAMED;
}

static void explain_count_gpu(const struct pool *pool, const struct request *request,
                              uint64_t sequence, struct pool_gpu *gpu, struct census *census)
{
    for (enum stage stage = PLACE; stage < STAGES; stage++) {
        if (!explain_passes(pool, request, sequence, gpu, stage, census)) {
            if (stage == SERVICE)
                note_absence(census, gpu);
            return;
        }
        census->passed[stage]++;
        if (stage == SERVICE && gpu_takes_mode(gpu, GPU_SHARED) &&
            gpu_free_bytes(gpu) > census->roomiest)
            census->roomiest = gpu_free_bytes(gpu);
    }
}

static void count_pool(const struct pool *pool, const struct request *request, uint64_t sequence,
                       struct census *census)
{
    for (size_t i = 0; i < pool->box_count; i++) {
        const struct pool_box *box = pool->boxes[i];

        if (!box_matches(request, box))
            continue;
        for (uint32_t j = 0; j < box->gpu_count; j++)
            explain_count_gpu(pool, request, sequence, box->gpus[j], census);
    }
}

// ---- the sentence ----

struct text {
    char *start;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list arguments;

    if (text->used >= EXPLAIN_MAX)
        return;
    va_start(arguments, format);
    text->used +=
        (size_t)vsnprintf(text->start + text->used, EXPLAIN_MAX - text->used, format, arguments);
    va_end(arguments);
}

static void add_drains(struct text *text, const struct census *census)
{
    for (uint32_t i = 0; i < census->drain_count; i++) {
        const struct pool_gpu *gpu = census->drains[i];
        const char *reason = gpu_drain(gpu)->reason;

        add(text, i ? ", %s" : " (%s", gpu->box->name);
        if (gpu->drained)
            add(text, ":%u", gpu->index);
        if (reason)
            add(text, ": %s", reason);
    }
    if (census->drain_count)
        add(text, census->drain_count == DRAINS_NAMED ? ", ...)" : ")");
}

// Names the absent boxes if their absence may be the reason.
static void add_absence(struct text *text, const struct census *census, enum stage stage)
{
    uint32_t out = census->passed[MODE] - census->passed[SERVICE];

    if (census->drained) {
        add(text, "; %u %s drained", census->drained, census->drained == 1 ? "is" : "are");
        add_drains(text, census);
    }
    if (stage != SERVICE)
        return;
    if (census->absent)
        add(text, "; %u %s away", census->absent, census->absent == 1 ? "is" : "are");
    if (out > census->drained + census->absent)
        add(text, "; %u not ready yet", out - census->drained - census->absent);
}

static void explain_add_place(struct text *text, const struct request *request)
{
    if (*request->box)
        add(text, " in boxes %s", request->box);
    if (*request->locality)
        add(text, " at %s", request->locality);
}

static double gib(uint64_t bytes)
{
    return (double)bytes / (double)(1ull << 30);
}

static uint64_t least_share(const struct request *request)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < request->part_count; i++)
        if (request->parts[i].mode == GPU_SHARED && request->parts[i].memory < least)
            least = request->parts[i].memory;
    return least;
}

static void add_shortage(struct text *text, const struct request *request,
                         const struct census *census, enum stage stage)
{
    uint32_t have = census->passed[stage], of = stage == PLACE ? 0 : census->passed[stage - 1];

    if (stage == PLACE || stage == MODEL) {
        add(text, have ? "the pool has %u GPUs" : "the pool has no GPUs", have);
        if (stage == MODEL)
            add(text, " of model %s", request->model);
        explain_add_place(text, request);
        return;
    }
    add(text, "%u of %u GPUs of its kind ", have, of);
    switch (stage) {
    case MEMORY: add(text, "have %.1f GiB of memory", gib(request->min_memory)); return;
    case CAPABLE:
        add(text, "have compute capability %u.%u", request->min_capability / 10,
            request->min_capability % 10);
        return;
    case SHARING: add(text, "are of boxes that keep leases to a part of a GPU"); return;
    case LARGE:
        add(text, "have the memory for a share of %.1f GiB", gib(least_share(request)));
        return;
    case MODE:
        add(text, explain_is_shared(request) ? "are given in shares" : "are given whole");
        return;
    case SERVICE: add(text, "are in service"); return;
    case ROOM:
        if (explain_is_shared(request))
            add(text, "have room for a share of %.1f GiB (the most that is free is %.1f)",
                gib(least_share(request)), gib(census->roomiest));
        else
            add(text, "are free");
        return;
    case PLACE:
    case MODEL:
    case LEFT:
    case STAGES: return;
    }
}

static uint32_t wanted_gpus(const struct request *request)
{
    uint32_t total = 0;

    for (uint32_t i = 0; i < request->part_count; i++)
        total += request->parts[i].count;
    return total;
}

// There are enough of them, but not together.
static void add_arrangement(struct text *text, const struct request *request,
                            const struct census *census, uint32_t wanted)
{
    add(text, "%u GPUs are free, but ", census->passed[LEFT]);
    if (request->same_box)
        add(text, "no box has %u of them", wanted);
    else if (request->different_boxes)
        add(text, "not in %u boxes", wanted);
    else
        add(text, "not all that it wants");
}

void explain_request(const struct pool *pool, const struct request *request, uint64_t sequence,
                     char out[EXPLAIN_MAX])
{
    struct text text = {out, 0};
    struct census census = {0};
    uint32_t wanted = wanted_gpus(request);
    enum stage stage = PLACE;

    count_pool(pool, request, sequence, &census);
    while (stage < STAGES && census.passed[stage] >= wanted)
        stage++;
    if (stage == LEFT)
        add(&text, "%u GPUs are free, %u of them are left to those who came before",
            census.passed[ROOM], census.passed[ROOM] - census.passed[LEFT]);
    else if (stage == STAGES)
        add_arrangement(&text, request, &census, wanted);
    else
        add_shortage(&text, request, &census, stage);
    if (stage < LEFT)
        add(&text, ", it wants %u", wanted);
    if (stage >= SERVICE)
        add_absence(&text, &census, stage);
}

void explain_impossible(const struct pool *pool, const struct request *request,
                        char out[EXPLAIN_MAX])
{
    struct text text = {out, 0};
    struct census census = {0};
    uint32_t wanted = wanted_gpus(request);
    enum stage stage = PLACE;

    count_pool(pool, request, UINT64_MAX, &census);
    while (stage <= MODE && census.passed[stage] >= wanted)
        stage++;
    if (stage <= MODE)
        add_shortage(&text, request, &census, stage);
    else
        add(&text, "%u GPUs are of its kind, but not together as it wants them",
            census.passed[MODE]);
    add(&text, "; it wants %u%s", wanted,
        request->same_box          ? " of one box"
        : request->different_boxes ? " of different boxes"
                                   : "");
    if (stage == MODE)
        add(&text, "; an administrator allows both by rgpuctl mode GPU auto");
}

void explain_lease(const struct pool *pool, const struct pool_lease *lease, char text[EXPLAIN_MAX])
{
    const struct queue_class *entry = lease->queue_class;

    *text = '\0';
    if (entry && TAILQ_FIRST(&entry->waiting) != lease)
        snprintf(text, EXPLAIN_MAX, "others who want the same came before");
    else if (entry)
        explain_request(pool, &lease->request, lease->sequence, text);
}

// Finds it out anew where that is due, and where the moment has room for it.
static void keep_reason(const struct pool *pool, struct queue_class *entry)
{
    enum { LOOKS_MAX = 400000 }; // at GPUs in a second: some milliseconds
    const struct pool_lease *head = TAILQ_FIRST(&entry->waiting);
    struct queue *queue = pool->queue;

    if (entry->reason_of == queue->moment || queue->looks > LOOKS_MAX)
        return;
    if (!entry->kept_reason)
        entry->kept_reason = malloc(EXPLAIN_MAX);
    if (!entry->kept_reason)
        return;
    explain_request(pool, &head->request, head->sequence, entry->kept_reason);
    entry->reason_of = queue->moment;
    queue->looks += pool->gpu_count;
}

void explain_waiting(const struct pool *pool, const struct pool_lease *lease,
                     char text[EXPLAIN_MAX])
{
    struct queue_class *entry = lease->queue_class;

    if (!entry || TAILQ_FIRST(&entry->waiting) != lease) {
        explain_lease(pool, lease, text); // which looks at no GPU
        return;
    }
    keep_reason(pool, entry);
    snprintf(text, EXPLAIN_MAX, "%s", entry->kept_reason ? entry->kept_reason : "");
}
