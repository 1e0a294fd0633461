// SPDX-License-Identifier: BSD-3-Clause
// Checks the order of the queue that docs/admin/pool.md promises. Requests that wait are served in
// order. A GPU that an earlier request could use is not given to a later one. The oracle decides by
// itself what a request could use, if it has one part and no conditions on boxes together.
#include "tests/simulation/oracle_queue.h"

#include <string.h>

#include "tests/simulation/world.h"

static bool is_simple(const struct request *request)
{
    return request->part_count == 1 && !request->same_box && !request->different_boxes &&
           !request->drained;
}

// The GPU is of the kind that a simple request wants. MODES: bit mask of modes that it can take.
static bool is_wanted(const struct request *request, const struct pool_gpu *gpu, unsigned modes)
{
    return (modes & 1u << request->parts[0].mode) && gpu->memory > request->parts[0].memory &&
           (!*request->box || !strcmp(request->box, gpu->box->name)) &&
           (!request->index || request->index == gpu->index + 1);
}

static unsigned modes_ever(const struct pool_gpu *gpu)
{
    return gpu->automatic ? 3 : 1u << gpu->mode;
}

// Modes in which the GPU could be granted just before its last grant.
static unsigned modes_before(const struct pool_gpu *gpu)
{
    return gpu->automatic && gpu->holders == 1 ? 3 : 1u << gpu->mode;
}

static bool is_possible(const struct pool *pool, const struct request *request)
{
    uint32_t count = 0;

    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++)
            count +=
                pool->boxes[i]->gpus[j]->present &&
                is_wanted(request, pool->boxes[i]->gpus[j], modes_ever(pool->boxes[i]->gpus[j]));
    return count >= request->parts[0].count;
}

static bool takes_from(const struct pool_lease *granted, const struct request *request)
{
    for (size_t i = 0; i < granted->hold_count; i++)
        if (granted->holds[i].held &&
            is_wanted(request, granted->holds[i].gpu, modes_before(granted->holds[i].gpu)))
            return true;
    return false;
}

static bool has_gpu(const struct pool_lease *lease, const struct pool_gpu *gpu)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].held && lease->holds[i].gpu == gpu)
            return true;
    return false;
}

// A lease that is to return to its GPUs has them before all who wait.
static void check_returning(const struct pool *pool, const struct pool_lease *granted)
{
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &pool->returning, returning)
        for (size_t i = 0; i < lease->hold_count; i++)
            if (lease->holds[i].aside && has_gpu(granted, lease->holds[i].gpu))
                world_broken("lease %s gets GPU %s, to which lease %s is to return", granted->id,
                             lease->holds[i].gpu->uuid, lease->id);
}

static void check_in_service(const struct pool_lease *granted)
{
    for (size_t i = 0; i < granted->hold_count; i++) {
        const struct pool_hold *hold = &granted->holds[i];
        if (hold->held && (hold->gpu->drained || hold->box->drained || !hold->gpu->present))
            world_broken("lease %s gets GPU %s, which is not in service", granted->id,
                         hold->gpu->uuid);
    }
}

void oracle_check_drained(const struct pool *pool, const char *name)
{
    const struct pool_box *box = pool_find_box(pool, name);
    const struct pool_gpu *gpu = box ? NULL : pool_gpu_named(pool, name);
    const struct pool_lease *lease;

    if (box ? !box->drained : !gpu || !gpu->drained)
        return; // it is back in service
    TAILQ_FOREACH(lease, &pool->leases, all)
        if (lease->state != LEASE_ENDING &&
            (box ? lease_holds_on(lease, box) : lease_holds_gpu(lease, gpu)))
            world_broken("%s was drained by force, and lease %s has it still", name, lease->id);
}

void oracle_check_order(const struct pool *pool, const struct pool_lease *granted)
{
    const struct pool_lease *waiting;

    check_returning(pool, granted);
    check_in_service(granted);
    if (pool->planned_count)
        return; // a scheduler keeps GPUs for requests that it sends next
    TAILQ_FOREACH(waiting, &pool->leases, all) {
        if (waiting->state != LEASE_QUEUED || waiting->sequence > granted->sequence)
            continue;
        if (!memcmp(&waiting->request, &granted->request, sizeof(waiting->request)))
            world_broken("lease %s is granted before lease %s, which waits for the same",
                         granted->id, waiting->id);
        if (is_simple(&waiting->request) && takes_from(granted, &waiting->request) &&
            is_possible(pool, &waiting->request))
            world_broken("lease %s gets a GPU for which lease %s waits, which came before",
                         granted->id, waiting->id);
    }
}

// ---- no request waits in vain ----

// A request that could be served for so long is forgotten. A broker may stand still for a minute.
enum { FORGOTTEN_SECONDS = 5 };

static struct {
    char lease[POOL_NAME_MAX];
    int64_t since;
    unsigned start; // of the broker
} idle;

static bool wanted_earlier(const struct pool *pool, const struct pool_lease *waiting,
                           const struct pool_gpu *gpu)
{
    const struct pool_lease *earlier;

    TAILQ_FOREACH(earlier, &pool->leases, all)
        if (earlier->state == LEASE_QUEUED && earlier->sequence < waiting->sequence &&
            (!is_simple(&earlier->request) || is_wanted(&earlier->request, gpu, modes_ever(gpu))))
            return true;
    return false;
}

// Returns true if free GPUs that no earlier request could use suffice for the simple request.
static bool is_servable(const struct pool *pool, const struct pool_lease *waiting)
{
    uint32_t count = 0;

    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++) {
            const struct pool_gpu *gpu = pool->boxes[i]->gpus[j];
            count += gpu_usable(gpu) && gpu->ready && !gpu->holders &&
                     is_wanted(&waiting->request, gpu, modes_ever(gpu)) &&
                     gpu->memory > waiting->request.parts[0].memory + gpu->context &&
                     !pool_is_awaited(pool, gpu, NULL) && !wanted_earlier(pool, waiting, gpu);
        }
    return count >= waiting->request.parts[0].count;
}

void oracle_check_progress(const struct broker *broker, unsigned start)
{
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        if (lease->state != LEASE_QUEUED || !is_simple(&lease->request) ||
            !is_servable(broker->pool, lease))
            continue;
        if (strcmp(idle.lease, lease->id) || idle.start != start || broker_problem(broker) ||
            broker->pool->planned_count) {
            strcpy(idle.lease, lease->id);
            idle.since = world_now;
            idle.start = start;
        } else if (world_now - idle.since > FORGOTTEN_SECONDS * SECOND) {
            world_broken("lease %s waits, and its GPUs are free", lease->id);
        }
        return;
    }
    *idle.lease = '\0';
}

void oracle_check_waiting(const struct pool *pool)
{
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &pool->leases, all)
        if (lease->state == LEASE_QUEUED && is_simple(&lease->request) &&
            is_possible(pool, &lease->request))
            world_broken("lease %s waits, and all GPUs are free", lease->id);
}
