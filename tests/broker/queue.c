// SPDX-License-Identifier: BSD-3-Clause
// The queue is served in order. Small requests that arrive later do not starve a large one, and
// requests for other GPUs do not wait for it.
#include <stdlib.h>

#include "broker/pool/explain.h"
#include "tests/broker/pool_sample.h"

static uint64_t sequence;

static struct pool_lease *wait_for(struct pool *pool, const struct request *request)
{
    struct pool_lease *lease = lease_new();

    lease->request = *request;
    lease->sequence = ++sequence;
    snprintf(lease->id, sizeof(lease->id), "L%d", (int)sequence);
    if (pool_add_lease(pool, lease) || queue_join(pool->queue, lease))
        bail("cannot wait");
    return lease;
}

static int place(struct pool *pool, const struct request *request, uint64_t as)
{
    struct plan plan = {0};
    int error = plan_make(pool, request, as, &plan);

    plan_clear(&plan);
    return error;
}

static void test_order(void)
{
    struct pool *pool = pool_new();
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0), two = sample_request(2, 0, 0);
    struct pool_lease *first = wait_for(pool, &two), *second = wait_for(pool, &one);
    struct pool_lease *third = wait_for(pool, &two);

    is_int(pool->queue->length, 3, "three wait");
    ok(TAILQ_FIRST(&pool->queue->classes) == first->queue_class, "the first is at the head");
    ok(first->queue_class == third->queue_class && second->queue_class != first->queue_class,
       "equal requests are of one class");
    queue_leave(pool->queue, first);
    ok(TAILQ_FIRST(&pool->queue->classes) == second->queue_class, "then the second");
    queue_leave(pool->queue, second);
    ok(TAILQ_FIRST(&pool->queue->classes) == third->queue_class, "then the third");
    queue_leave(pool->queue, third);
    queue_leave(pool->queue, third);
    ok(TAILQ_EMPTY(&pool->queue->classes) && pool->queue->length == 0, "then nobody");
    pool_free(&pool);
}

static void test_fairness(void)
{
    struct pool *pool = pool_new();
    struct request large = sample_request(2, GPU_EXCLUSIVE, 0);
    struct request small = sample_request(1, GPU_EXCLUSIVE, 0);
    struct request share = sample_request(1, GPU_SHARED, GB);
    struct request elsewhere = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_hold hold[1];
    struct pool_lease *waiting;

    sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    sample_box(pool, "b", 1, "A100", 80 * GB, GPU_EXCLUSIVE);
    sample_box(pool, "c", 1, "H200", 100 * GB, GPU_SHARED);
    strcpy(large.model, "H200");
    strcpy(elsewhere.model, "A100");
    strcpy(small.model, "H200");
    is_int(sample_take(pool, &small, hold), 0, "one of the two is taken");
    waiting = wait_for(pool, &large);
    is_int(place(pool, &small, sequence + 1), OUTCOME_BUSY,
           "the free one is left to who waits for two");
    is_int(place(pool, &elsewhere, sequence + 1), 0, "another model is not");
    is_int(place(pool, &share, sequence + 1), 0, "nor are shares");
    is_int(place(pool, &small, waiting->sequence), 0, "who came before takes it");
    queue_set_possible(pool->queue, waiting->queue_class, false);
    is_int(place(pool, &small, sequence + 1), 0, "who can never be served holds up nobody");
    queue_leave(pool->queue, waiting);
    is_int(place(pool, &small, sequence + 1), 0, "nor who has gone");
    pool_free(&pool);
}

// A request that waits for the first GPU of a box leaves the others to who comes later.
static void test_claimed_by_index(void)
{
    struct pool *pool = pool_new();
    struct request first = sample_request(2, GPU_EXCLUSIVE, 0);
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0), two = sample_request(2, 0, 0);
    struct pool_hold hold[1];
    struct pool_lease *waiting;

    sample_box(pool, "a", 3, "H200", 100 * GB, GPU_EXCLUSIVE);
    sample_box(pool, "b", 1, "H200", 100 * GB, GPU_EXCLUSIVE);
    strcpy(one.box, "b");
    is_int(sample_take(pool, &one, hold), 0, "the only GPU of a box is taken");
    *one.box = '\0';
    first.index = 1;
    waiting = wait_for(pool, &first);
    is_int(place(pool, &two, sequence + 1), 0, "two GPUs that are not claimed are there");
    one.index = 1;
    is_int(place(pool, &one, sequence + 1), OUTCOME_BUSY, "the claimed one is not");
    queue_leave(pool->queue, waiting);
    is_int(place(pool, &one, sequence + 1), 0, "until its claim has gone");
    waiting = wait_for(pool, &two);
    queue_leave(pool->queue, waiting);
    is_int((int64_t)pool->queue->indexed, 0, "and no request for an index is left");
    pool_free(&pool);
}

enum { KINDS = 12, STEPS = 4000 };

static struct request kind(unsigned number)
{
    struct request request = sample_request(1 + number % 3, number % 2 ? GPU_SHARED : GPU_EXCLUSIVE,
                                            number % 2 ? GB : 0);

    strcpy(request.model, number % 4 < 2 ? "H200" : "A100");
    if (number % 3 == 0)
        strcpy(request.box, "a");
    return request;
}

// Compares the cached claims of a GPU with a walk through the whole queue.
static bool as_if_forgotten(struct pool *pool, uint64_t newcomer)
{
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++) {
            struct pool_gpu fresh = *pool->boxes[i]->gpus[j];
            uint64_t as = (uint64_t)random() % 2 ? newcomer : (uint64_t)random() % newcomer;

            fresh.claim.found_in = 0;
            if (claims_bar(pool, pool->boxes[i]->gpus[j], as) != claims_bar(pool, &fresh, as))
                return false;
        }
    return true;
}

static void test_memory_of_claims(void)
{
    struct pool *pool = pool_new();
    struct pool_lease *waiting[64] = {0};
    struct pool_hold hold[64] = {0};
    struct pool_box *boxes[] = {sample_box(pool, "a", 3, "H200", 100 * GB, GPU_EXCLUSIVE),
                                sample_box(pool, "b", 3, "A100", 80 * GB, GPU_SHARED)};
    bool same = true;

    srandom(7);
    boxes[0]->gpus[0]->automatic = boxes[1]->gpus[0]->automatic = true;
    for (int step = 0; same && step < STEPS; step++) {
        unsigned place = (unsigned)random() % 64;
        struct pool_gpu *gpu = boxes[place % 2]->gpus[place % 3];
        struct request request = kind((unsigned)random() % KINDS);

        if (random() % 8 == 0 && waiting[place]) {
            queue_set_possible(pool->queue, waiting[place]->queue_class, random() % 2);
        } else if (random() % 3 == 0) {
            hold[place].gpu = gpu;
            hold[place].box = gpu->box;
            hold[place].mode = (enum gpu_mode)gpu->mode;
            if (hold[place].held)
                pool_give_back(&hold[place]);
            else
                pool_take(&hold[place]);
        } else if (waiting[place]) {
            pool_remove_lease(pool, waiting[place]);
            waiting[place] = NULL;
        } else {
            waiting[place] = wait_for(pool, &request);
        }
        same = as_if_forgotten(pool, sequence + 1);
    }
    ok(same, "what is remembered of claims is what the queue says, after any change");
    for (int i = 0; i < 64; i++)
        if (hold[i].held)
            pool_give_back(&hold[i]);
    pool_free(&pool);
}

static void test_reasons(void)
{
    struct pool *pool = pool_new();
    struct request two = sample_request(2, GPU_EXCLUSIVE, 0), four = sample_request(4, 0, 0);
    struct pool_lease *first, *second, *third;
    struct pool_hold hold[4];
    struct drain said;
    char text[EXPLAIN_MAX];

    sample_box(pool, "a", 4, "H200", 100 * GB, GPU_EXCLUSIVE);
    is_int(sample_take(pool, &two, hold), 0, "two of four are taken");
    first = wait_for(pool, &four);
    second = wait_for(pool, &two);
    third = wait_for(pool, &two);
    explain_lease(pool, first, text);
    is_str(text, "2 of 4 GPUs of its kind are free, it wants 4", "too few are free");
    explain_lease(pool, second, text);
    is_str(text, "2 GPUs are free, 2 of them are left to those who came before",
           "they are not left");
    explain_lease(pool, third, text);
    is_str(text, "others who want the same came before", "or others are in front");
    pool->boxes[0]->drained = true;
    explain_lease(pool, first, text);
    is_str(text, "0 of 4 GPUs of its kind are in service, it wants 4; 4 are drained (a)",
           "or the box is drained");
    said = (struct drain){.reason = strdup("fan")};
    drain_set(&pool->boxes[0]->drain, &said);
    explain_lease(pool, first, text);
    is_str(text, "0 of 4 GPUs of its kind are in service, it wants 4; 4 are drained (a: fan)",
           "with what was said of it");
    pool_free(&pool);
}

// Reasons are found out once a tick, and only so many, as that looks at all GPUs.
static void test_reasons_are_kept(void)
{
    struct pool *pool = pool_new();
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0), two = sample_request(2, 0, 0);
    struct pool_lease *first, *second;
    struct pool_hold hold[1];
    char text[EXPLAIN_MAX];

    sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    is_int(sample_take(pool, &one, hold), 0, "one of two is taken");
    first = wait_for(pool, &two);
    two.same_box = true;
    second = wait_for(pool, &two);
    explain_waiting(pool, first, text);
    is_str(text, "1 of 2 GPUs of its kind are free, it wants 2", "a reason");
    pool->boxes[0]->drained = true;
    explain_waiting(pool, first, text);
    is_str(text, "1 of 2 GPUs of its kind are free, it wants 2", "is kept");
    queue_tick(pool->queue);
    explain_waiting(pool, first, text);
    is_str(text, "0 of 2 GPUs of its kind are in service, it wants 2; 2 are drained (a)",
           "until the next tick");
    pool->queue->looks = 500000;
    explain_waiting(pool, second, text);
    is_str(text, "", "no more are found out in one tick");
    queue_tick(pool->queue);
    explain_waiting(pool, second, text);
    ok(*text, "but in the next");
    pool_free(&pool);
}

// Requests and the answers of a pool of two boxes, one with whole H200s and one with A100s for
// shares.
static const struct {
    const char *model, *box;
    uint64_t least, share;
    uint32_t count, capability;
    bool same_box, different_boxes;
    const char *why, *name;
} shortages[] = {
    {.model = "*H999*",
     .count = 1,
     .why = "the pool has no GPUs of model *H999*, it wants 1",
     .name = "a model that is not there"},
    {.model = "*H200*",
     .count = 3,
     .why = "the pool has 2 GPUs of model *H200*, it wants 3",
     .name = "too few of a model"},
    {.box = "c*",
     .count = 1,
     .why = "the pool has no GPUs in boxes c*, it wants 1",
     .name = "no such box"},
    {.least = 120 * GB,
     .count = 1,
     .why = "0 of 4 GPUs of its kind have 120.0 GiB of memory, it wants 1",
     .name = "memory"},
    {.capability = 90,
     .count = 1,
     .why = "0 of 4 GPUs of its kind have compute capability 9.0, it wants 1",
     .name = "capability"},
    {.share = 200 * GB,
     .count = 1,
     .why = "0 of 4 GPUs of its kind have the memory for a share of 200.0 GiB, it wants 1",
     .name = "a budget beyond any GPU"},
    {.model = "*H200*",
     .share = GB,
     .count = 1,
     .why = "0 of 2 GPUs of its kind are given in shares, it wants 1",
     .name = "mode"},
    {.share = 70 * GB,
     .count = 1,
     .why = "0 of 2 GPUs of its kind have room for a share of 70.0 GiB (the most that is free is "
            "60.0), it wants 1",
     .name = "a budget beyond what is free"},
    {.model = "*H200*",
     .count = 2,
     .same_box = true,
     .why = "1 of 2 GPUs of its kind are in service, it wants 2; 1 is drained (h:1: fan)",
     .name = "a drained GPU"},
    {.model = "*H200*",
     .count = 1,
     .why = "0 of 1 GPUs of its kind are free, it wants 1; 1 is drained (h:1: fan)",
     .name = "one that is held, where a drained one would do"},
    {.share = GB,
     .count = 2,
     .different_boxes = true,
     .why = "2 GPUs are free, but not in 2 boxes",
     .name = "on different boxes"},
};

static void test_shortages(void)
{
    struct pool *pool = pool_new();
    struct pool_box *h = sample_box(pool, "h", 2, "NVIDIA H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *a = sample_box(pool, "a", 2, "NVIDIA A100", 100 * GB, GPU_SHARED);
    struct drain said = {.reason = strdup("fan")};

    for (int i = 0; i < 2; i++)
        a->gpus[i]->used = 40 * GB;
    h->gpus[0]->holders = 1;
    h->gpus[1]->drained = true;
    drain_set(&h->gpus[1]->drain, &said);
    for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++) {
        uint64_t share = shortages[i].share;
        struct request request =
            sample_request(shortages[i].count, share ? GPU_SHARED : GPU_EXCLUSIVE, share);
        char text[EXPLAIN_MAX];

        if (shortages[i].model)
            strcpy(request.model, shortages[i].model);
        if (shortages[i].box)
            strcpy(request.box, shortages[i].box);
        request.min_memory = shortages[i].least;
        request.min_capability = shortages[i].capability;
        request.same_box = shortages[i].same_box;
        request.different_boxes = shortages[i].different_boxes;
        explain_request(pool, &request, 1, text);
        is_str(text, shortages[i].why, shortages[i].name);
    }
    pool_free(&pool);
}

int main(void)
{
    test_memory_of_claims();
    test_reasons();
    test_reasons_are_kept();
    test_shortages();
    test_order();
    test_fairness();
    test_claimed_by_index();
    return done();
}
