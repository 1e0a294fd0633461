// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/claims.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "broker/pool/queue.h"

// Most patterns are plain names, and this is asked of each box for each class that waits.
bool pattern_matches(const char *pattern, const char *text)
{
    if (!*pattern)
        return true;
    return pattern[strcspn(pattern, "*?[\\")] ? fnmatch(pattern, text, FNM_CASEFOLD) == 0
                                              : strcasecmp(pattern, text) == 0;
}

static bool wants_mode(const struct request *request, enum gpu_mode mode)
{
    for (uint32_t i = 0; i < request->part_count; i++)
        if (request->parts[i].mode == mode)
            return true;
    return false;
}

bool parts_are_kind(const struct request *request, bool parts)
{
    return !request->compute || parts;
}

bool gpu_is_kind(const struct request *request, const struct pool_gpu *gpu, bool of_model)
{
    return of_model && gpu->memory >= request->min_memory &&
           gpu->capability >= request->min_capability && parts_are_kind(request, gpu->parts) &&
           (!request->index || request->index == gpu->index + 1);
}

bool request_may_use(const struct request *request, const struct pool_gpu *gpu)
{
    return gpu_usable(gpu) ||
           (request->drained && gpu->present && gpu->ready && box_serves(gpu->box));
}

bool box_matches(const struct request *request, const struct pool_box *box)
{
    return pattern_matches(request->box, box->name) &&
           pattern_matches(request->locality, box->locality);
}

bool request_wants(const struct request *request, const struct pool_gpu *gpu)
{
    bool mode = (gpu_takes_mode(gpu, GPU_EXCLUSIVE) && wants_mode(request, GPU_EXCLUSIVE)) ||
                (gpu_takes_mode(gpu, GPU_SHARED) && wants_mode(request, GPU_SHARED));

    return mode && gpu_is_kind(request, gpu, pattern_matches(request->model, gpu->model)) &&
           box_matches(request, gpu->box);
}

static uint64_t head_of(const struct queue_class *entry)
{
    return TAILQ_FIRST(&entry->waiting)->sequence;
}

// A lease that is wanted has an owner and a preference of places, which a plan does not know.
bool plans_bar(const struct pool *pool, const struct request *request, const struct pool_gpu *gpu)
{
    struct request bare;

    if (!gpu->kept)
        return false;
    bare = *request;
    bare.tenant = 0;
    memset(bare.near, 0, sizeof(bare.near));
    return memcmp(&bare, &pool->planned[gpu->kept - 1], sizeof(bare)) != 0;
}

static bool claims(const struct pool *pool, const struct queue_class *entry,
                   const struct pool_gpu *gpu)
{
    return !entry->impossible && request_wants(&entry->request, gpu) &&
           !plans_bar(pool, &entry->request, gpu);
}

// The lowest claim among all classes, which are sorted by their heads.
static uint64_t find_claim(const struct pool *pool, const struct pool_gpu *gpu)
{
    const struct queue_class *entry;

    TAILQ_FOREACH(entry, &pool->queue->classes, all)
        if (claims(pool, entry, gpu))
            return head_of(entry);
    return NO_CLAIM;
}

// The same among the requests that have come since the GPU was checked.
static uint64_t find_new_claim(const struct pool *pool, const struct pool_gpu *gpu)
{
    const struct queue_class *entry;
    uint64_t claim = NO_CLAIM;

    TAILQ_FOREACH_REVERSE(entry, &pool->queue->classes, class_list, all) {
        if (head_of(entry) <= gpu->claim.newest)
            break;
        if (claims(pool, entry, gpu))
            claim = head_of(entry);
    }
    return claim;
}

// A new class is the last one, so it adds a claim only if there is none; a class that goes, or
// whose head goes, takes away no claim but its own.
static uint64_t claim_on(const struct pool *pool, struct pool_gpu *gpu)
{
    const struct queue *queue = pool->queue;
    struct gpu_claim *claim = &gpu->claim;
    uint64_t now = queue->changes + pool->generation + 1;
    uint8_t modes =
        (uint8_t)(gpu_takes_mode(gpu, GPU_EXCLUSIVE) | gpu_takes_mode(gpu, GPU_SHARED) << 1);

    if (claim->found_in != now || claim->modes != modes ||
        (claim->lowest != NO_CLAIM && claim->gone != queue->gone))
        claim->lowest = find_claim(pool, gpu);
    else if (claim->lowest == NO_CLAIM && !TAILQ_EMPTY(&queue->classes))
        claim->lowest = find_new_claim(pool, gpu);
    claim->found_in = now;
    claim->modes = modes;
    claim->gone = queue->gone;
    if (!TAILQ_EMPTY(&queue->classes))
        claim->newest = head_of(TAILQ_LAST(&queue->classes, class_list));
    return claim->lowest;
}

bool claims_bar(const struct pool *pool, struct pool_gpu *gpu, uint64_t sequence)
{
    return pool_is_awaited(pool, gpu, NULL) || claim_on(pool, gpu) < sequence;
}
