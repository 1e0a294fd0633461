// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a client's request for GPUs to the broker. An accepted request must be placed into a
// small pool without breaking the pool's rules, and its text must parse to the same request.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/plan.h"
#include "broker/pool/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pool *make_pool(void)
{
    struct pool *pool = pool_new();

    for (int b = 0; b < 3; b++) {
        char name[32];
        snprintf(name, sizeof(name), "box%d", b);
        struct pool_box *box = pool_add_box(pool, name);
        box->connected = box->settled = box->accepting = true;
        for (uint32_t i = 0; i < 4; i++) {
            snprintf(name, sizeof(name), "GPU-%d-%u", b, i);
            struct pool_gpu *gpu = pool_add_gpu(pool, name);
            gpu->index = i;
            gpu->model = pool_intern_model(pool, b ? "NVIDIA H200" : "NVIDIA A100");
            gpu->memory = 80ull << 30;
            gpu->context = 1ull << 29;
            gpu->mode = i % 2 ? GPU_SHARED : GPU_EXCLUSIVE;
            gpu->present = true;
            if (pool_place_gpu(gpu, box) < 0)
                abort();
        }
    }
    return pool;
}

static void check_plan(const struct request *request, const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct pool_gpu *gpu = plan->slots[i].gpu;
        const struct request_part *part = &request->parts[plan->slots[i].part];
        if (gpu->mode != part->mode || gpu->memory < request->min_memory ||
            (part->mode == GPU_SHARED && part->memory + gpu->context > gpu->memory))
            abort();
        for (size_t j = 0; j < i; j++)
            if (plan->slots[j].gpu == gpu)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pool *pool;
    json_t *object = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    struct request request, again;
    struct plan plan = {0};
    const char *why;
    char *text;

    if (!pool)
        pool = make_pool();
    if (request_from_json(object, &request, &why) == 0) {
        text = request_to_text(&request);
        if (!text || request_from_text(text, &again) < 0 ||
            memcmp(&request, &again, sizeof(request)) != 0)
            abort();
        free(text);
        if (plan_make(pool, &request, 1, &plan) == 0)
            check_plan(&request, &plan);
        plan_clear(&plan);
    } else if (!why) {
        abort();
    }
    json_decref(object);
    return 0;
}
