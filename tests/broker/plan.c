// SPDX-License-Identifier: BSD-3-Clause
// Requests are placed whole or not at all, where mode, memory and constraints allow, by policy.
#include "tests/broker/pool_sample.h"

#include "broker/pool/near.h"
#include "broker/pool/request.h"

static struct pool_hold holds[64];

static void test_exclusive(void)
{
    struct pool *pool = pool_new();
    struct request two = sample_request(2, GPU_EXCLUSIVE, 0);
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0);
    struct request five = sample_request(5, GPU_EXCLUSIVE, 0);

    sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    sample_box(pool, "b", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    is_int(sample_take(pool, &five, holds), OUTCOME_IMPOSSIBLE, "more than there is can never be");
    is_int(sample_take(pool, &one, &holds[0]), 0, "one of four is granted");
    is_int(sample_take(pool, &two, &holds[1]), 0, "then two");
    ok(holds[1].box == holds[2].box && holds[1].box != holds[0].box,
       "packed onto the box that can take both");
    is_int(sample_take(pool, &two, &holds[3]), OUTCOME_BUSY, "two more are not there now");
    is_int(sample_take(pool, &one, &holds[3]), 0, "one is");
    pool_give_back(&holds[1]);
    is_int(sample_take(pool, &one, &holds[4]), 0, "what is given back is granted again");
    ok(holds[4].gpu == holds[1].gpu, "the very GPU");
    pool_free(&pool);
}

static void test_shares(void)
{
    struct pool *pool = pool_new();
    struct request share = sample_request(1, GPU_SHARED, 30 * GB);
    struct request exclusive = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_box *box = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_SHARED);

    is_int(sample_take(pool, &exclusive, holds), OUTCOME_IMPOSSIBLE,
           "a shared GPU is not given whole");
    for (int i = 0; i < 3; i++)
        is_int(sample_take(pool, &share, &holds[i]), 0, "share %d of 30 of 100 GB fits", i + 1);
    is_int(box->gpus[0]->used, 93 * GB, "each is charged with its context");
    is_int(sample_take(pool, &share, &holds[3]), OUTCOME_BUSY, "a fourth does not");
    share.parts[0].memory = 6 * GB;
    is_int(sample_take(pool, &share, &holds[3]), 0, "6 GB and a context fill it to the last byte");
    is_int(gpu_free_bytes(box->gpus[0]), 0, "nothing is left");
    share.parts[0].memory = 1;
    is_int(sample_take(pool, &share, &holds[4]), OUTCOME_BUSY, "not even one byte");
    share.parts[0].memory = UINT64_MAX;
    is_int(sample_take(pool, &share, &holds[4]), OUTCOME_IMPOSSIBLE,
           "a budget that overflows is no budget");
    box->gpus[0]->reserved = 50 * GB;
    pool_give_back(&holds[0]);
    is_int(gpu_free_bytes(box->gpus[0]), 0, "reserved memory counts, without going negative");
    pool_free(&pool);
}

static void test_overcommitted(void)
{
    struct pool *pool = pool_new();
    struct request share = sample_request(1, GPU_SHARED, 60 * GB);
    struct request exclusive = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_box *box = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_SHARED);

    box->gpus[0]->overcommit = 200;
    for (int i = 0; i < 3; i++)
        is_int(sample_take(pool, &share, &holds[i]), 0, "share %d of 60 of 100 GB is promised",
               i + 1);
    is_int(sample_take(pool, &share, &holds[3]), OUTCOME_BUSY,
           "a fourth is not, at a factor of two");
    share.parts[0].memory = 16 * GB;
    is_int(sample_take(pool, &share, &holds[3]), 0, "17 GB fill it to the last byte");
    is_int(gpu_free_bytes(box->gpus[0]), 0, "nothing is left");
    for (int i = 0; i < 4; i++)
        pool_give_back(&holds[i]);
    share.parts[0].memory = 100 * GB;
    is_int(sample_take(pool, &share, holds), OUTCOME_IMPOSSIBLE,
           "one share is not larger than the GPU");
    share.parts[0].memory = 99 * GB;
    is_int(sample_take(pool, &share, &holds[0]), 0, "but may be as large");
    is_int(sample_take(pool, &share, &holds[1]), 0, "as often as the factor says");
    is_int(sample_take(pool, &exclusive, &holds[2]), OUTCOME_IMPOSSIBLE, "and nobody has it whole");
    pool_free(&pool);
}

// A session that waits to return to a GPU comes before all requests.
static void test_mix_of_automatic(void)
{
    static const char modes[] = "eaesaes"; // exclusive, shared, automatic
    for (enum policy policy = POLICY_PACK; policy <= POLICY_BEST_FIT; policy++) {
        struct pool *pool = pool_new();
        struct request request = sample_request(3, GPU_EXCLUSIVE, 0);
        struct pool_box *box = sample_box(pool, "a", 7, "H200", 80 * GB, GPU_EXCLUSIVE);
        for (int i = 0; i < 7; i++) {
            box->gpus[i]->mode = modes[i] == 's' ? GPU_SHARED : GPU_EXCLUSIVE;
            box->gpus[i]->automatic = modes[i] == 'a';
        }
        request.parts[0].count = 4;
        request.parts[1] = (struct request_part){.count = 3, .mode = GPU_SHARED, .memory = 13 * GB};
        request.part_count = 2;
        request.policy = policy;
        request.same_box = true;
        is_int(sample_take(pool, &request, holds), 0,
               "policy %d: four whole GPUs and three shares fit into a box of seven", (int)policy);
        pool_free(&pool);
    }
}

static void test_awaited(void)
{
    struct pool *pool = pool_new();
    struct request share = sample_request(1, GPU_SHARED, 10 * GB);
    struct pool_lease *lease = lease_new();

    sample_box(pool, "a", 2, "H200", 100 * GB, GPU_SHARED);
    is_int(sample_take(pool, &share, holds), 0, "a lease has a GPU");
    lease->holds = calloc(1, sizeof(*lease->holds));
    lease->holds[lease->hold_count++] = holds[0];
    pool_give_back(&lease->holds[0]);
    lease->holds[0].aside = true;
    lease->suspension = LEASE_AWAY;
    strcpy(lease->id, "L1");
    is_int(pool_add_lease(pool, lease), 0, "which it has given to others");
    is_int(sample_take(pool, &share, &holds[1]), 0, "they may have it");
    ok(holds[1].gpu == holds[0].gpu, "and do");
    pool_set_suspension(pool, lease, LEASE_RETURNING);
    is_int(sample_take(pool, &share, &holds[2]), 0, "when it is to return there is another");
    ok(holds[2].gpu != holds[0].gpu, "which nobody waits for");
    share.parts[0].count = 2;
    is_int(sample_take(pool, &share, &holds[3]), OUTCOME_BUSY, "and who wants both waits");
    pool_set_suspension(pool, lease, LEASE_HERE);
    is_int(sample_take(pool, &share, &holds[3]), 0, "until it has returned");
    pool_free(&pool);
}

static void test_distinct_gpus(void)
{
    struct pool *pool = pool_new();
    struct request two = sample_request(2, GPU_SHARED, GB);

    sample_box(pool, "a", 1, "H200", 100 * GB, GPU_SHARED);
    is_int(sample_take(pool, &two, holds), OUTCOME_IMPOSSIBLE,
           "two shares of a lease are two GPUs");
    sample_box(pool, "b", 1, "H200", 100 * GB, GPU_SHARED);
    is_int(sample_take(pool, &two, holds), 0, "which it gets when there are two");
    ok(holds[0].gpu != holds[1].gpu, "distinct ones");
    pool_free(&pool);
}

static void test_constraints(void)
{
    struct pool *pool = pool_new();
    struct request request = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_box *a = sample_box(pool, "a1", 2, "NVIDIA H200", 140 * GB, GPU_EXCLUSIVE);
    struct pool_box *b = sample_box(pool, "b1", 2, "NVIDIA A100", 80 * GB, GPU_EXCLUSIVE);

    strcpy(b->locality, "rack2");
    strcpy(request.model, "*h200*");
    ok(!sample_take(pool, &request, holds) && holds[0].box == a, "by model, whatever the case");
    strcpy(request.model, "*A100*");
    ok(!sample_take(pool, &request, holds) && holds[0].box == b, "by another model");
    strcpy(request.model, "*B200*");
    is_int(sample_take(pool, &request, holds), OUTCOME_IMPOSSIBLE, "a model that is not there");
    memset(request.model, 0, sizeof(request.model));
    request.min_memory = 100 * GB;
    ok(!sample_take(pool, &request, holds) && holds[0].box == a, "by memory");
    request.min_memory = 0;
    strcpy(request.locality, "rack2");
    ok(!sample_take(pool, &request, holds) && holds[0].box == b, "by locality");
    pool_free(&pool);
}

static void test_boxes(void)
{
    struct pool *pool = pool_new();
    struct request request = sample_request(3, GPU_EXCLUSIVE, 0);
    struct pool_box *a = sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *b = sample_box(pool, "b", 4, "H200", 100 * GB, GPU_EXCLUSIVE);

    request.same_box = true;
    ok(!sample_take(pool, &request, holds) && holds[0].box == b && holds[2].box == b,
       "same box: one that has them all");
    is_int(sample_take(pool, &request, &holds[3]), OUTCOME_BUSY,
           "else none, though three are free");
    request.same_box = false;
    request.different_boxes = true;
    is_int(sample_take(pool, &request, &holds[3]), OUTCOME_IMPOSSIBLE,
           "three boxes there never were");
    request.parts[0].count = 2;
    ok(!sample_take(pool, &request, &holds[3]) && holds[3].box != holds[4].box,
       "different boxes: one on each");
    strcpy(request.box, "a");
    request.different_boxes = false;
    request.parts[0].count = 1;
    ok(!sample_take(pool, &request, &holds[5]) && holds[5].box == a, "by box");
    pool_free(&pool);
}

static void test_mix(void)
{
    struct pool *pool = pool_new();
    struct request request = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_box *a = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *b = sample_box(pool, "b", 2, "H200", 100 * GB, GPU_SHARED);

    request.parts[1] = (struct request_part){.count = 1, .mode = GPU_SHARED, .memory = 10 * GB};
    request.parts[2] = (struct request_part){.count = 1, .mode = GPU_SHARED, .memory = 90 * GB};
    request.part_count = 3;
    b->gpus[0]->reserved = 20 * GB;
    is_int(sample_take(pool, &request, holds), 0, "exclusive and shares of two sizes in one lease");
    ok(holds[0].box == a && holds[1].gpu == b->gpus[0] && holds[2].gpu == b->gpus[1],
       "each part where it fits, in the order asked for");
    pool_free(&pool);
}

// GPUs whose mode follows who asks.
static void test_automatic(void)
{
    struct pool *pool = pool_new();
    struct request whole = sample_request(1, GPU_EXCLUSIVE, 0);
    struct request share = sample_request(1, GPU_SHARED, 40 * GB);
    struct pool_box *a = sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *b = sample_box(pool, "b", 1, "H200", 100 * GB, GPU_EXCLUSIVE);

    is_int(sample_take(pool, &share, holds), OUTCOME_IMPOSSIBLE,
           "of exclusive GPUs there is no share");
    is_int(plan_count(pool, &share, UINT64_MAX, 9), 0, "nor is one counted");
    a->gpus[0]->automatic = a->gpus[1]->automatic = b->gpus[0]->automatic = true;
    a->stale = b->stale = true;
    is_int(plan_count(pool, &share, UINT64_MAX, 9), 6, "of three that may change there are six");
    is_int(plan_count(pool, &whole, UINT64_MAX, 9), 3, "or three whole ones");
    is_int(a->gpus[0]->mode, GPU_EXCLUSIVE, "counting changes none");
    strcpy(share.box, "a");
    ok(!sample_take(pool, &share, &holds[0]), "a share of one");
    is_int(holds[0].gpu->mode, GPU_SHARED, "makes it one of shares");
    memset(share.box, 0, sizeof(share.box));
    ok(!sample_take(pool, &share, &holds[1]) && holds[1].gpu == holds[0].gpu,
       "the next share goes there, though another box is fuller");
    ok(!sample_take(pool, &whole, &holds[2]) && holds[2].gpu != holds[0].gpu,
       "a whole one is another");
    ok(!sample_take(pool, &whole, &holds[3]) && holds[3].gpu != holds[0].gpu, "and the last");
    is_int(sample_take(pool, &whole, &holds[4]), OUTCOME_BUSY,
           "one with shares is not given whole");
    is_int(sample_take(pool, &share, &holds[4]), OUTCOME_BUSY, "nor are whole ones shared");
    pool_give_back(&holds[0]);
    is_int(sample_take(pool, &whole, &holds[4]), OUTCOME_BUSY, "not while one share is left");
    pool_give_back(&holds[1]);
    ok(!sample_take(pool, &whole, &holds[4]) && holds[4].gpu == holds[0].gpu &&
           holds[4].gpu->mode == GPU_EXCLUSIVE,
       "but after the last");
    pool_free(&pool);
}

static void test_policies(void)
{
    struct pool *pool = pool_new();
    struct request request = sample_request(1, GPU_SHARED, 10 * GB);
    struct pool_box *a = sample_box(pool, "a", 2, "H200", 100 * GB, GPU_SHARED);
    struct pool_box *b = sample_box(pool, "b", 2, "H200", 50 * GB, GPU_SHARED);

    request.policy = POLICY_BEST_FIT;
    ok(!sample_take(pool, &request, &holds[0]) && holds[0].box == b, "best fit: the smallest");
    ok(!sample_take(pool, &request, &holds[1]) && holds[1].gpu == holds[0].gpu,
       "best fit: then what is left of it");
    request.policy = POLICY_SPREAD;
    ok(!sample_take(pool, &request, &holds[2]) && holds[2].box == a, "spread: the emptiest box");
    ok(!sample_take(pool, &request, &holds[3]) && holds[3].box == a && holds[3].gpu != holds[2].gpu,
       "spread: then its other GPU");
    request.policy = POLICY_PACK;
    ok(!sample_take(pool, &request, &holds[4]) && holds[4].gpu->holders > 1,
       "pack: a GPU that is in use already");
    pool_free(&pool);
}

static void test_service(void)
{
    struct pool *pool = pool_new();
    struct request request = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_box *box = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_EXCLUSIVE);

    box->drained = true;
    is_int(sample_take(pool, &request, holds), OUTCOME_BUSY, "nothing on a drained box");
    box->drained = false;
    box->gpus[0]->drained = true;
    box->stale = true;
    is_int(sample_take(pool, &request, holds), OUTCOME_BUSY, "no drained GPU");
    box->gpus[0]->drained = false;
    box->stale = true;
    box->connected = false;
    is_int(sample_take(pool, &request, holds), OUTCOME_BUSY, "nothing on an absent box");
    box->connected = true;
    box->settled = false;
    is_int(sample_take(pool, &request, holds), OUTCOME_BUSY, "nothing where foreign sessions run");
    box->settled = true;
    box->gpus[0]->present = false;
    box->stale = true;
    is_int(sample_take(pool, &request, holds), OUTCOME_BUSY, "no GPU that has gone");
    box->gpus[0]->present = true;
    box->stale = true;
    is_int(sample_take(pool, &request, holds), 0, "all in service: granted");
    pool_free(&pool);
}

static int parse(const char *text)
{
    struct request request;
    const char *why;
    json_t *object = json_loads(text, 0, NULL);
    int error = request_from_json(object, &request, &why);

    json_decref(object);
    return error;
}

static void test_requests(void)
{
    struct request request = sample_request(2, GPU_SHARED, 5 * GB), again;
    char *text;

    strcpy(request.model, "*H200*");
    request.same_box = true;
    request.policy = POLICY_SPREAD;
    text = request_to_text(&request);
    ok(!request_from_text(text, &again) && !memcmp(&request, &again, sizeof(request)),
       "a request comes back from its text byte by byte");
    free(text);
    is_int(parse("{\"gpus\":[{}]}"), 0, "one exclusive GPU is the least");
    is_int(parse("{\"gpus\":[]}"), -EINVAL, "nothing is not");
    is_int(parse("{\"gpus\":[{\"count\":0}]}"), -EINVAL, "nor none");
    is_int(parse("{\"gpus\":[{\"count\":-1}]}"), -EINVAL, "nor less");
    is_int(parse("{\"gpus\":[{\"count\":1e9}]}"), -EINVAL, "nor a fraction");
    is_int(parse("{\"gpus\":[{\"count\":100000}]}"), -EINVAL, "nor too many");
    is_int(parse("{\"gpus\":[{\"mode\":\"shared\"}]}"), -EINVAL, "a share needs a budget");
    is_int(parse("{\"gpus\":[{\"mode\":\"both\"}]}"), -EINVAL, "a mode is one of two");
    is_int(parse("{\"gpus\":[{}],\"policy\":\"best\"}"), -EINVAL, "a policy is one of three");
    is_int(parse("{\"gpus\":[{\"count\":2}],\"same_box\":true,\"different_boxes\":true}"), -EINVAL,
           "same and different boxes exclude each other");
}

static void test_capability(void)
{
    struct pool *pool = pool_new();
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_box *old = sample_box(pool, "old", 1, "A100", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *new = sample_box(pool, "new", 1, "H200", 100 * GB, GPU_EXCLUSIVE);

    old->gpus[0]->capability = 80;
    new->gpus[0]->capability = 90;
    one.min_capability = 86;
    is_int(sample_take(pool, &one, holds), 0, "a GPU of the capability");
    ok(holds[0].box == new, "is one that has it");
    is_int(sample_take(pool, &one, &holds[1]), OUTCOME_BUSY, "another has to be waited for");
    one.min_capability = 91;
    is_int(sample_take(pool, &one, &holds[1]), OUTCOME_IMPOSSIBLE,
           "more than any has can never be");
    one.min_capability = 80;
    is_int(sample_take(pool, &one, &holds[1]), 0, "just enough is enough");
    pool_free(&pool);
}

static struct pool_hold share_of(struct pool_gpu *gpu)
{
    return (struct pool_hold){.gpu = gpu,
                              .box = gpu->box,
                              .mode = GPU_SHARED,
                              .memory = 20 * GB,
                              .context = gpu->context};
}

static void free_gpu(struct pool_gpu *gpu)
{
    while (gpu->holders) {
        struct pool_hold hold = share_of(gpu);

        hold.mode = (enum gpu_mode)gpu->mode;
        hold.held = true;
        pool_give_back(&hold);
    }
}

static bool mostly(void)
{
    return rand() % 8 > 0;
}

// Any state that a GPU may be in.
static void change_gpu(struct pool *pool, struct pool_box *box, struct pool_gpu *gpu)
{
    struct pool_hold hold = {.gpu = gpu, .box = box, .mode = GPU_EXCLUSIVE};

    switch (rand() % 9) {
    case 0: gpu->drained = !mostly(); break;
    case 1: gpu->ready = mostly(); break;
    case 2: gpu->present = mostly(); break;
    case 3:
        gpu->model = pool_intern_model(pool, rand() % 2 ? "H200" : "A100");
        pool->generation++; // as registering does
        break;
    case 4:
        gpu->memory = (50 + (uint64_t)(rand() % 2) * 50) * GB;
        pool->generation++;
        break;
    case 5: gpu->mode = gpu->holders ? gpu->mode : (uint8_t)(rand() % 2); break;
    case 6: gpu->automatic = !gpu->automatic; break;
    case 7:
        if (gpu->holders == 0 && gpu_takes_mode(gpu, GPU_EXCLUSIVE))
            pool_take(&hold);
        break;
    case 8:
        hold = share_of(gpu);
        if (gpu_takes_mode(gpu, GPU_SHARED) && gpu_free_bytes(gpu) >= hold.memory + hold.context)
            pool_take(&hold);
        break;
    }
    box->stale = true;
}

static void change_box(struct pool_box *box)
{
    switch (rand() % 5) {
    case 0: box->drained = !mostly(); break;
    case 1: box->connected = mostly(); break;
    case 2: box->hung_up = !mostly(); break;
    case 3: box->settled = mostly(); break;
    case 4: box->accepting = mostly(); break;
    }
}

static bool could_have(const struct pool *pool, const struct request *request, struct pool_gpu *gpu)
{
    const struct request_part *part = &request->parts[0];
    bool room = part->mode == GPU_EXCLUSIVE ? gpu->holders == 0
                                            : gpu_free_bytes(gpu) >= part->memory + gpu->context;

    return room && gpu_usable(gpu) && gpu_takes_mode(gpu, part->mode) &&
           request_wants(request, gpu) && !claims_bar(pool, gpu, 2);
}

// Counts the free GPUs by visiting each. `best` is one that `spread` should take first.
static uint32_t count_free(const struct pool *pool, const struct request *request,
                           struct pool_gpu **best)
{
    uint32_t count = 0;

    *best = NULL;
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++) {
            struct pool_gpu *gpu = pool->boxes[i]->gpus[j];
            if (!could_have(pool, request, gpu))
                continue;
            count++;
            if (!*best || gpu->box->holders < (*best)->box->holders ||
                (gpu->box->holders == (*best)->box->holders &&
                 gpu_free_bytes(gpu) > gpu_free_bytes(*best)))
                *best = gpu;
        }
    return count;
}

static bool finds(struct pool *pool, struct request *request, uint32_t count)
{
    struct plan plan = {0};
    bool found;

    request->parts[0].count = count;
    found = plan_try(pool, request, 2, &plan) == 0 && plan.count == count;
    plan_clear(&plan);
    return found;
}

static bool spreads(struct pool *pool, struct request *request, const struct pool_gpu *best)
{
    struct plan plan = {0};
    const struct pool_gpu *chosen;
    bool same;

    request->parts[0].count = 1;
    request->policy = POLICY_SPREAD;
    if (plan_try(pool, request, 2, &plan))
        return false;
    chosen = plan.slots[0].gpu;
    same = chosen->box->holders == best->box->holders &&
           gpu_free_bytes(chosen) == gpu_free_bytes(best);
    plan_clear(&plan);
    return same;
}

static struct request random_request(void)
{
    bool shared = rand() % 2;
    struct request request = sample_request(1, shared ? GPU_SHARED : GPU_EXCLUSIVE,
                                            shared ? (10 + (uint64_t)(rand() % 10) * 10) * GB : 0);

    strcpy(request.model, rand() % 2 ? "H200" : "");
    request.min_memory = (uint64_t)(rand() % 2) * 80 * GB;
    request.policy = (enum policy)(rand() % 3);
    return request;
}

static void wait_in_front(struct pool *pool)
{
    struct pool_lease *lease = lease_new();

    strcpy(lease->id, "first");
    lease->sequence = 1;
    lease->request = sample_request(64, GPU_EXCLUSIVE, 0);
    strcpy(lease->request.box, "b*");
    strcpy(lease->request.model, "A100");
    if (pool_add_lease(pool, lease) || queue_join(pool->queue, lease))
        bail("no room in the queue");
}

// Placement counts GPUs that are alike by the box, and passes over boxes that cannot be better: it
// must find as many as there are, and the same ones.
static void test_all_that_are_free(void)
{
    static const char *const names[] = {"a", "ab", "b", "ba"};
    struct pool *pool = pool_new();
    bool same = true, best_first = true;

    for (int i = 0; i < 4; i++)
        sample_box(pool, names[i], 4, "H200", 100 * GB, GPU_EXCLUSIVE);
    wait_in_front(pool);
    srand(4);
    for (int i = 0; i < 8000 && same; i++) {
        struct pool_box *box = pool->boxes[rand() % 4];
        struct request request = random_request();
        struct pool_gpu *best;
        uint32_t count;

        if (rand() % 4 == 0)
            change_box(box);
        else
            change_gpu(pool, box, box->gpus[rand() % 4]);
        count = count_free(pool, &request, &best);
        same = !finds(pool, &request, count + 1) && (count == 0 || finds(pool, &request, count));
        best_first &= count == 0 || spreads(pool, &request, best);
        if (i % 200 == 199) // all come free again
            for (int j = 0; j < 16; j++)
                free_gpu(pool->boxes[j / 4]->gpus[j % 4]);
    }
    ok(same, "as many GPUs are found as are free, in any state of the pool");
    ok(best_first, "and `spread` begins with the freest");
    pool_free(&pool);
}

static void test_near(void)
{
    struct pool *pool = pool_new();
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0),
                   three = sample_request(3, GPU_EXCLUSIVE, 0);
    struct pool_box *far = sample_box(pool, "a", 4, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *hall = sample_box(pool, "b", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *rack = sample_box(pool, "c", 2, "H200", 100 * GB, GPU_EXCLUSIVE);

    strcpy(far->locality, "hall4.rack7");
    strcpy(hall->locality, "hall3.rack2");
    strcpy(rack->locality, "hall3.Rack1");
    is_int(near_distance("", rack), 0, "where nothing is said all are as near");
    is_int(near_distance("rack1,hall3", rack), 0, "the first place");
    is_int(near_distance("rack1,hall3", hall), 1, "the second");
    is_int(near_distance("rack1,hall3", far), 2, "neither");
    is_int(near_distance("rack9|rack1,hall3", rack), 0, "one of several");
    is_int(near_distance("rack,hall", rack), 2, "a part of a name is another name");
    is_int(near_distance("x,a", far), 1, "the box itself is a place");
    strcpy(one.near, "rack1,hall3");
    is_int(sample_take(pool, &one, holds), 0, "one");
    ok(holds[0].box == rack, "in the rack");
    for (one.policy = POLICY_PACK; one.policy <= POLICY_BEST_FIT; one.policy++) {
        is_int(sample_take(pool, &one, &holds[1]), 0, "policy %d", one.policy);
        ok(holds[1].box == rack, "goes to the rack as well");
        pool_give_back(&holds[1]);
    }
    one.policy = POLICY_PACK;
    is_int(sample_take(pool, &one, &holds[1]), 0, "the last there");
    is_int(sample_take(pool, &one, &holds[2]), 0, "the next");
    ok(holds[2].box == hall, "in the hall");
    strcpy(three.near, "rack1,hall3");
    is_int(sample_take(pool, &three, &holds[3]), 0,
           "three that are nowhere near are taken where they are");
    ok(holds[3].box == far && holds[5].box == far, "together");
    pool_free(&pool);
}

// A request gets the box whose GPUs others seek less, of two that can take all of it.
static void test_sought_boxes(void)
{
    struct pool *pool = pool_new();
    struct request two = sample_request(2, GPU_EXCLUSIVE, 0);
    struct pool_box *a = sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *b = sample_box(pool, "b", 2, "H200", 100 * GB, GPU_EXCLUSIVE);

    two.same_box = true;
    a->gpus[1]->sought = 1;
    is_int(sample_take(pool, &two, holds), 0, "two GPUs of one box");
    ok(holds[0].box == b && holds[1].box == b, "where others seek none");
    pool_give_back(&holds[0]);
    pool_give_back(&holds[1]);
    b->gpus[0]->sought = b->gpus[1]->sought = 1;
    is_int(sample_take(pool, &two, holds), 0, "and if they seek some on both");
    ok(holds[0].box == a && holds[1].box == a, "where they seek fewer");
    pool_give_back(&holds[0]);
    pool_give_back(&holds[1]);
    a->gpus[1]->sought = b->gpus[0]->sought = b->gpus[1]->sought = 0;
    two.policy = POLICY_SPREAD;
    is_int(sample_take(pool, &two, holds), 0, "of two boxes that are alike");
    ok(holds[0].box == a && holds[1].box == a, "the first one");
    pool_free(&pool);
}

// GPUs that are shared by MPS take processes of one lease, or of one user.
static void test_tenants(void)
{
    struct pool *pool = pool_new();
    struct request share = sample_request(1, GPU_SHARED, GB);
    struct pool_box *box = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_SHARED);

    box->gpus[0]->sharing = GPU_MPS_LEASE;
    share.tenant = 7;
    is_int(sample_take(pool, &share, &holds[0]), 0, "a lease has a GPU by MPS");
    is_int(sample_take(pool, &share, &holds[1]), OUTCOME_BUSY, "no other has a share of it");
    box->gpus[0]->sharing = GPU_MPS_USER;
    is_int(sample_take(pool, &share, &holds[1]), OUTCOME_BUSY, "nor has a user's lease, unknown");
    pool_give_back(&holds[0]);
    is_int(sample_take(pool, &share, &holds[0]), 0, "a user has a GPU by MPS");
    holds[0].gpu->tenant = 7;
    is_int(sample_take(pool, &share, &holds[1]), 0, "his other lease has a share, too");
    holds[0].gpu->tenant = 7;
    share.tenant = 8;
    is_int(sample_take(pool, &share, &holds[2]), OUTCOME_BUSY, "and another user has none");
    box->gpus[0]->sharing = GPU_MPS_ALL;
    is_int(sample_take(pool, &share, &holds[2]), 0, "unless all may");
    share.compute = 100;
    box->gpus[0]->parts = true;
    box->gpus[0]->computing = 0;
    is_int(sample_take(pool, &share, &holds[3]), 0, "all of its processors are free");
    box->gpus[0]->computing = 100;
    share.compute = 1;
    is_int(sample_take(pool, &share, &holds[4]), OUTCOME_BUSY, "and then none");
    pool_free(&pool);
}

int main(void)
{
    test_sought_boxes();
    test_tenants();
    test_exclusive();
    test_shares();
    test_overcommitted();
    test_awaited();
    test_distinct_gpus();
    test_constraints();
    test_boxes();
    test_mix();
    test_automatic();
    test_mix_of_automatic();
    test_policies();
    test_service();
    test_requests();
    test_capability();
    test_near();
    test_all_that_are_free();
    return done();
}
