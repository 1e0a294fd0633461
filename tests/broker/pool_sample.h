// SPDX-License-Identifier: BSD-3-Clause
// Pools and requests made in one line, for the tests of placement.
#ifndef RGPU_TESTS_BROKER_POOL_SAMPLE_H
#define RGPU_TESTS_BROKER_POOL_SAMPLE_H

#include <errno.h>

#include "broker/pool/claims.h"
#include "broker/pool/plan.h"
#include "broker/pool/queue.h"
#include "tests/tap.h"

#define GB (1ull << 30)

// A box that is up, with `count` GPUs of `memory` bytes; contexts cost 1 GB.
static inline struct pool_box *sample_box(struct pool *pool, const char *name, int count,
                                          const char *model, uint64_t memory, enum gpu_mode mode)
{
    struct pool_box *box = pool_add_box(pool, name);

    if (!box)
        bail("no box");
    box->connected = box->settled = box->accepting = true;
    for (int i = 0; i < count; i++) {
        char uuid[POOL_NAME_MAX];
        struct pool_gpu *gpu;
        snprintf(uuid, sizeof(uuid), "%s-%d", name, i);
        gpu = pool_add_gpu(pool, uuid);
        gpu->index = (uint32_t)i;
        gpu->model = pool_intern_model(pool, model);
        gpu->memory = memory;
        gpu->context = GB;
        gpu->mode = mode;
        gpu->present = gpu->ready = true;
        if (pool_place_gpu(gpu, box) < 0)
            bail("no room for a gpu");
    }
    return box;
}

static inline struct request sample_request(uint32_t count, enum gpu_mode mode, uint64_t memory)
{
    struct request request;

    memset(&request, 0, sizeof(request));
    request.part_count = 1;
    request.parts[0].count = count;
    request.parts[0].mode = mode;
    request.parts[0].memory = memory;
    return request;
}

// Plans and takes; the holds are remembered so that `sample_free` can give them back.
static inline int sample_take(struct pool *pool, const struct request *request,
                              struct pool_hold *holds)
{
    struct plan plan = {0};
    int error = plan_make(pool, request, UINT64_MAX, &plan);

    for (size_t i = 0; !error && i < plan.count; i++) {
        const struct request_part *part = &request->parts[plan.slots[i].part];
        holds[i] = (struct pool_hold){.gpu = plan.slots[i].gpu,
                                      .box = plan.slots[i].gpu->box,
                                      .mode = part->mode,
                                      .memory = part->memory,
                                      .context = part->mode == GPU_SHARED ? GB : 0};
        pool_take(&holds[i]);
    }
    plan_clear(&plan);
    return error;
}

#endif
