// SPDX-License-Identifier: BSD-3-Clause
// The pool's books: names, boxes and their GPUs, leases and what they hold, and the sums that
// placement uses in place of the GPUs.
#include <stdlib.h>

#include "tests/broker/pool_sample.h"

// ---- names ----

static void test_names(void)
{
    struct pool *pool = pool_new();
    struct pool_lease *lease = lease_new();
    char longest[POOL_NAME_MAX], longer[POOL_NAME_MAX + 1];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    ok(pool_add_box(pool, longest) && pool_find_box(pool, longest), "a box may have a long name");
    ok(!pool_add_box(pool, longer) && !pool_find_box(pool, longer) && pool->box_count == 1,
       "but not a longer one");
    ok(pool_add_gpu(pool, longest) && pool_find_gpu(pool, longest), "so may a GPU");
    ok(!pool_add_gpu(pool, longer) && !pool_find_gpu(pool, longer) && pool->gpu_count == 1,
       "within the same limit");
    strcpy(lease->id, longest);
    ok(!pool_add_lease(pool, lease) && pool_find_lease(pool, longest) == lease, "so may a lease");
    ok(!pool_find_lease(pool, longer), "which the others are not");
    pool_free(&pool);
    ok(!pool, "all is forgotten");
    pool_free(&pool);
}

static void test_numbers(void)
{
    struct pool *pool = pool_new();
    struct pool_box *box = sample_box(pool, "a", 3, "H200", 100 * GB, GPU_EXCLUSIVE);

    box->gpus[2]->index = 7;
    ok(pool_gpu_named(pool, "a-1") == box->gpus[1], "a GPU is named by its identifier");
    ok(pool_gpu_named(pool, "a:1") == box->gpus[1] && pool_gpu_named(pool, "a:7") == box->gpus[2],
       "or by its box and number");
    ok(!pool_gpu_named(pool, "a:2") && !pool_gpu_named(pool, "b:1") && !pool_gpu_named(pool, "x"),
       "if there is one");
    is_int(pool_parse_name(policy_names, "spread"), POLICY_SPREAD, "a word is found");
    is_int(pool_parse_name(policy_names, "other"), -EINVAL, "another one is not");
    is_int(pool_parse_name(policy_names, NULL), -EINVAL, "nor is none");
    pool_free(&pool);
}

// ---- boxes ----

static void test_places(void)
{
    struct pool *pool = pool_new();
    struct pool_box *a = pool_add_box(pool, "a"), *b = pool_add_box(pool, "b");
    struct pool_gpu *gpus[POOL_GPUS_PER_BOX + 1];
    char uuid[16];
    bool sorted = true;

    for (int i = 0; i <= POOL_GPUS_PER_BOX; i++) {
        snprintf(uuid, sizeof(uuid), "G%d", i);
        gpus[i] = pool_add_gpu(pool, uuid);
        gpus[i]->index = (uint32_t)(i * 37 % 64);
        is_int(pool_place_gpu(gpus[i], a), i < POOL_GPUS_PER_BOX ? 0 : -ENOSPC, "GPU %d", i);
    }
    is_int(pool_place_gpu(gpus[3], a), 0, "one of a full box may have its place again");
    for (uint32_t i = 0; i < a->gpu_count; i++)
        sorted &= a->gpus[i]->index == i;
    ok(sorted && a->gpu_count == POOL_GPUS_PER_BOX, "a box has its GPUs in the order of numbers");
    a->stale = b->stale = false;
    is_int(pool_place_gpu(gpus[3], b), 0, "one goes to another box");
    ok(a->stale && b->stale && a->gpu_count == POOL_GPUS_PER_BOX - 1 && b->gpu_count == 1 &&
           gpus[3]->box == b && b->gpus[0] == gpus[3],
       "which changes both");
    for (uint32_t i = 0; i < a->gpu_count; i++)
        sorted &= a->gpus[i] != gpus[3];
    ok(sorted, "the first one has it no more");
    pool->freed_count = 0;
    pool_remove_gpu(pool, gpus[5]);
    ok(a->gpu_count == POOL_GPUS_PER_BOX - 2 && pool->gpu_count == POOL_GPUS_PER_BOX &&
           !pool_find_gpu(pool, "G5") && pool->freed_count > POOL_FREED_MAX,
       "one is removed, and any may have been given back");
    pool_order(pool, a);
    pool_order(pool, b);
    pool_order(pool, a);
    ok(TAILQ_FIRST(&pool->orders) == a && TAILQ_NEXT(a, orders) == b && !TAILQ_NEXT(b, orders),
       "boxes get orders in turn");
    pool->generation = 5;
    pool_remove_box(pool, a);
    ok(pool->box_count == 1 && pool->boxes[0] == b && !pool_find_box(pool, "a") &&
           pool->gpu_count == 2 && TAILQ_FIRST(&pool->orders) == b && pool->generation == 6,
       "a box is removed with its GPUs and orders");
    is_int(pool_place_gpu(gpus[POOL_GPUS_PER_BOX], b), 0, "the last GPU finds room elsewhere");
    pool_remove_box(pool, b);
    ok(pool->box_count == 0 && pool->gpu_count == 0, "then nothing is left");
    pool_free(&pool);
}

static void test_models(void)
{
    struct pool *pool = pool_new();
    struct pool_box *box = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_EXCLUSIVE);
    const char *known = box->gpus[0]->model;
    char name[16];

    ok(pool_intern_model(pool, "H200") == known && pool->new_models == 1, "a model is kept once");
    for (int i = 1; i < POOL_NEW_MODELS - 1; i++) {
        snprintf(name, sizeof(name), "M%d", i);
        pool_intern_model(pool, name);
    }
    pool_forget_models(pool);
    is_int((int64_t)pool->new_models, POOL_NEW_MODELS - 1, "many are kept");
    pool_intern_model(pool, "last");
    pool_forget_models(pool);
    ok(pool->new_models == 0 && box->gpus[0]->model == known && !strcmp(known, "H200"),
       "when they become too many, those of GPUs remain");
    ok(pool_intern_model(pool, "H200") == known && pool->new_models == 0, "as they were");
    pool_intern_model(pool, "M1");
    is_int((int64_t)pool->new_models, 1, "and the others are forgotten");
    ok(pool_gpu_named(pool, "a:0") == box->gpus[0], "a GPU has the name of its box and its index");
    ok(!pool_gpu_named(pool, "a:1") && !pool_gpu_named(pool, "b:0"), "and no other");
    pool_free(&pool);
}

// ---- leases ----

static struct pool_lease *lease_of(struct pool *pool, const char *id, const char *key,
                                   int64_t owner)
{
    struct pool_lease *lease = lease_new();

    strcpy(lease->id, id);
    lease->key = pool_copy_text(key);
    lease->key_owner = owner;
    lease->state = LEASE_GRANTED;
    lease->holds = calloc(2, sizeof(*lease->holds));
    if (pool_add_lease(pool, lease))
        bail("no lease");
    return lease;
}

static void test_leases(void)
{
    struct pool *pool = pool_new();
    struct pool_lease *a = lease_of(pool, "La", "k", 1), *b = lease_of(pool, "Lb", "k", 2);
    struct pool_lease *c = lease_of(pool, "Lc", NULL, 0);

    is_int((int64_t)pool->lease_count, 3, "three leases");
    ok(pool_find_key(pool, 1, "k") == a && pool_find_key(pool, 2, "k") == b &&
           !pool_find_key(pool, 3, "k") && !pool_find_key(pool, 1, "l"),
       "have keys, which belong to their owners");
    pool_move_lease(pool, a, LEASE_ENDING);
    pool_move_lease(pool, a, LEASE_ENDING);
    pool_move_lease(pool, b, LEASE_ENDING);
    pool_move_lease(pool, c, LEASE_LOST);
    ok(TAILQ_FIRST(&pool->ending) == a && TAILQ_NEXT(a, ending) == b && !TAILQ_NEXT(b, ending),
       "those that end are in a list");
    pool_move_lease(pool, a, LEASE_GRANTED);
    ok(TAILQ_FIRST(&pool->ending) == b, "which a lease leaves that lives again");
    ok(TAILQ_EMPTY(&pool->displaced) && TAILQ_EMPTY(&pool->returning), "none is displaced");
    pool_set_suspension(pool, c, LEASE_AWAY);
    pool_set_suspension(pool, a, LEASE_RETURNING);
    pool_set_suspension(pool, a, LEASE_RETURNING);
    pool_set_suspension(pool, c, LEASE_RETURNING);
    ok(TAILQ_FIRST(&pool->returning) == a && TAILQ_NEXT(a, returning) == c &&
           !TAILQ_NEXT(c, returning),
       "those that return are in their order");
    ok(TAILQ_FIRST(&pool->displaced) == c && TAILQ_NEXT(c, displaced) == a &&
           !TAILQ_NEXT(a, displaced),
       "and all that were ever suspended");
    pool_set_suspension(pool, a, LEASE_HERE);
    ok(TAILQ_FIRST(&pool->returning) == c && a->is_displaced, "also if they run again");
    pool_remove_lease(pool, a);
    ok(TAILQ_FIRST(&pool->displaced) == c && !TAILQ_NEXT(c, displaced) && pool->lease_count == 2 &&
           !pool_find_lease(pool, "La") && !pool_find_key(pool, 1, "k"),
       "what has ended is in no list");
    pool_remove_lease(pool, c);
    pool_remove_lease(pool, b);
    ok(TAILQ_EMPTY(&pool->displaced) && TAILQ_EMPTY(&pool->returning) &&
           TAILQ_EMPTY(&pool->ending) && TAILQ_EMPTY(&pool->leases) && pool->lease_count == 0,
       "whatever it was");
    pool_free(&pool);
}

static void test_loaded(void)
{
    struct pool *pool = pool_new();
    struct pool_lease *ending = lease_new(), *returning = lease_new(), *moved = lease_new();

    strcpy(ending->id, "L1");
    ending->state = LEASE_ENDING;
    strcpy(returning->id, "L2");
    returning->suspension = LEASE_RETURNING;
    strcpy(moved->id, "L3");
    moved->holds = calloc(1, sizeof(*moved->holds));
    moved->hold_count = 1;
    moved->holds[0].moved = true;
    sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    moved->holds[0].gpu = pool->boxes[0]->gpus[0];
    moved->holds[0].box = pool->boxes[0];
    if (pool_add_lease(pool, ending) || pool_add_lease(pool, returning) ||
        pool_add_lease(pool, moved))
        bail("no leases");
    ok(TAILQ_FIRST(&pool->ending) == ending && TAILQ_FIRST(&pool->returning) == returning,
       "leases that were loaded are in their lists");
    ok(TAILQ_FIRST(&pool->displaced) == returning && TAILQ_NEXT(returning, displaced) == moved &&
           !ending->is_displaced,
       "also those that were moved");
    ok(pool_names_gpu(pool, pool->boxes[0]->gpus[0]) &&
           !pool_names_gpu(pool, pool->boxes[0]->gpus[1]),
       "a lease names its GPU");
    moved->holds[0].target = pool->boxes[0]->gpus[1];
    ok(pool_names_gpu(pool, pool->boxes[0]->gpus[1]), "and the one that it moves to");
    moved->holds[0].target = NULL;
    pool_free(&pool);
}

// ---- what leases hold ----

static void test_holds(void)
{
    struct pool *pool = pool_new();
    struct pool_box *box = sample_box(pool, "a", 3, "H200", 100 * GB, GPU_SHARED);
    struct pool_gpu *gpu = box->gpus[0], *other = box->gpus[1];
    struct pool_hold hold = {.gpu = gpu,
                             .box = box,
                             .mode = GPU_SHARED,
                             .memory = 10 * GB,
                             .context = GB,
                             .tenant = 7,
                             .compute = 30};

    box->stale = false;
    pool_take(&hold);
    pool_take(&hold);
    ok(hold.held && gpu->holders == 1 && box->holders == 1 && gpu->used == 11 * GB &&
           gpu->tenant == 7 && gpu->computing == 30 && box->stale,
       "a share is taken once");
    pool_reserve(&hold, other);
    ok(hold.target == other && other->holders == 1 && box->holders == 2 && other->used == 11 * GB,
       "its next GPU is reserved");
    box->stale = false;
    pool_unreserve(&hold);
    pool_unreserve(&hold);
    ok(!hold.target && other->holders == 0 && other->used == 0 && other->computing == 0 &&
           box->holders == 1 && box->stale,
       "until it does not go there");
    pool_reserve(&hold, other);
    pool_settle(&hold);
    ok(hold.gpu == other && !hold.target && hold.moved && gpu->holders == 0 && gpu->used == 0 &&
           gpu->computing == 0 && other->holders == 1 && box->holders == 1,
       "or has gone");
    pool_reserve(&hold, gpu);
    pool->freed_count = 0;
    pool_give_up(pool, &hold);
    ok(!hold.held && gpu->holders == 0 && other->holders == 0 && box->holders == 0 &&
           pool->freed_count == 2 && pool->freed[0] == other && pool->freed[1] == gpu,
       "both are given up together");
    pool_give_up(pool, &hold);
    pool_give_back(&hold);
    ok(box->holders == 0 && pool->freed_count == 2, "once");
    for (int i = 0; i < POOL_FREED_MAX + 5; i++)
        pool_note_freed(pool, gpu);
    is_int((int64_t)pool->freed_count, POOL_FREED_MAX + 1,
           "so many are noted, and that it was more");
    hold.mode = GPU_EXCLUSIVE;
    hold.gpu = gpu;
    pool_take(&hold);
    ok(gpu->mode == GPU_EXCLUSIVE && gpu->used == 0, "a GPU follows the mode of its lease");
    pool_give_back(&hold);
    pool_free(&pool);
}

static void test_awaited(void)
{
    struct pool *pool = pool_new();
    struct pool_box *box = sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *away = sample_box(pool, "b", 1, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_lease *first = lease_of(pool, "L1", NULL, 0), *next = lease_of(pool, "L2", NULL, 0);

    first->hold_count = next->hold_count = 1;
    first->holds[0] = (struct pool_hold){.gpu = box->gpus[0], .box = box, .aside = true};
    next->holds[0] = (struct pool_hold){.gpu = box->gpus[0], .box = box, .aside = true};
    pool_set_suspension(pool, first, LEASE_RETURNING);
    pool_set_suspension(pool, next, LEASE_RETURNING);
    ok(!pool_is_awaited(pool, box->gpus[0], first), "the first that returns waits for none");
    ok(pool_is_awaited(pool, box->gpus[0], next) && pool_is_awaited(pool, box->gpus[0], NULL),
       "the others for it");
    ok(!pool_is_awaited(pool, box->gpus[1], NULL), "the other GPU is for all");
    ok(lease_holds_gpu(first, box->gpus[0]) && !lease_holds_gpu(first, box->gpus[1]) &&
           lease_holds_on(first, box) && !lease_holds_on(first, away),
       "what is kept aside is the lease's");
    first->holds[0].aside = false;
    ok(!lease_holds_gpu(first, box->gpus[0]) && !lease_holds_on(first, box), "until it is not");
    first->holds[0].held = true;
    first->holds[0].target = box->gpus[1];
    ok(lease_holds_gpu(first, box->gpus[1]) && lease_holds_gpu(first, box->gpus[0]),
       "both GPUs of a move are");
    first->holds[0] = (struct pool_hold){.gpu = box->gpus[0], .box = box};
    pool_free(&pool);
}

// ---- a GPU and who may have it ----

static void test_modes(void)
{
    struct pool *pool = pool_new();
    struct pool_box *box = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_SHARED);
    struct pool_gpu *gpu = box->gpus[0];
    struct pool_lease *lease = lease_of(pool, "L1", NULL, 0);
    struct pool_hold share = {.mode = GPU_SHARED, .memory = 98 * GB, .context = GB};
    struct pool_hold whole = {.mode = GPU_EXCLUSIVE};
    enum gpu_mode mode;
    bool automatic;

    ok(gpu_takes_mode(gpu, GPU_SHARED) && !gpu_takes_mode(gpu, GPU_EXCLUSIVE) &&
           !gpu_may_take_mode(gpu, GPU_EXCLUSIVE),
       "a GPU has a mode");
    gpu->automatic = true;
    ok(gpu_takes_mode(gpu, GPU_EXCLUSIVE) && gpu_may_take_mode(gpu, GPU_EXCLUSIVE),
       "or takes each");
    ok(lease_fits_gpu(lease, &whole, gpu) && lease_fits_gpu(lease, &share, gpu), "both fit");
    gpu->holders = 1;
    ok(!gpu_takes_mode(gpu, GPU_EXCLUSIVE) && gpu_takes_mode(gpu, GPU_SHARED) &&
           gpu_may_take_mode(gpu, GPU_EXCLUSIVE),
       "until a lease has it");
    ok(!lease_fits_gpu(lease, &whole, gpu), "a whole one does not fit then");
    gpu->used = GB;
    ok(lease_fits_gpu(lease, &share, gpu), "a share does, to the last byte");
    gpu->used++;
    ok(!lease_fits_gpu(lease, &share, gpu), "and not beyond");
    gpu->used = 0;
    gpu->sharing = GPU_MPS_LEASE;
    ok(!lease_fits_gpu(lease, &share, gpu), "one tenant does not take others");
    gpu->sharing = GPU_MPS_USER;
    gpu->tenant = 5;
    lease->request.tenant = 4;
    ok(!gpu_takes_tenant(gpu, &lease->request), "a user's GPU no other user");
    lease->request.tenant = 5;
    ok(gpu_takes_tenant(gpu, &lease->request), "but that one");
    lease->request.tenant = gpu->tenant = 0;
    ok(!gpu_takes_tenant(gpu, &lease->request), "an unknown user is no one's equal");
    gpu->sharing = GPU_MPS_ALL;
    gpu->computing = 60;
    lease->request.compute = 40;
    ok(gpu_takes_tenant(gpu, &lease->request), "all of its multiprocessors can be promised");
    lease->request.compute = 41;
    ok(!gpu_takes_tenant(gpu, &lease->request), "and no more");
    gpu->holders = 0;
    ok(gpu_takes_tenant(gpu, &lease->request), "an empty one takes all");
    gpu->computing = 0;
    gpu->present = false;
    ok(!lease_fits_gpu(lease, &share, gpu), "a GPU that is missing takes none");
    gpu->present = true;
    box->hung_up = true;
    ok(!lease_fits_gpu(lease, &share, gpu), "nor does a box that hung up");
    box->hung_up = box->connected = false;
    ok(!lease_fits_gpu(lease, &share, gpu), "or is away");
    ok(!gpu_parse_mode("auto", &mode, &automatic) && automatic, "a mode may be automatic");
    ok(!gpu_parse_mode("shared", &mode, &automatic) && !automatic && mode == GPU_SHARED, "or not");
    ok(gpu_parse_mode("other", &mode, &automatic) == -EINVAL &&
           gpu_parse_mode(NULL, &mode, &automatic) == -EINVAL,
       "but must be one");
    pool_free(&pool);
}

static void test_service(void)
{
    struct pool *pool = pool_new();
    struct pool_box *box = sample_box(pool, "a", 1, "H200", 100 * GB, GPU_SHARED);
    struct pool_gpu *gpu = box->gpus[0];
    bool *const parts[] = {&box->connected, &box->settled, &box->accepting, &gpu->present,
                           &gpu->ready};
    bool *const obstacles[] = {&box->hung_up, &box->drained, &gpu->drained};
    int written = 0;

    ok(gpu_usable(gpu) && box_serves(box), "a GPU is in service");
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        *parts[i] = false;
        ok(!gpu_usable(gpu) && box_serves(box) == (i > 2), "but not without part %zu", i);
        *parts[i] = true;
    }
    for (size_t i = 0; i < sizeof(obstacles) / sizeof(*obstacles); i++) {
        *obstacles[i] = true;
        ok(!gpu_usable(gpu) && box_usable(box) == (i == 2), "nor with obstacle %zu", i);
        *obstacles[i] = false;
    }
    ok(!gpu_drain(gpu), "it is not drained");
    box->drained = true;
    ok(gpu_drain(gpu) == &box->drain, "it may be with its box");
    gpu->drained = true;
    ok(gpu_drain(gpu) == &gpu->drain, "or by itself");
    gpu->overcommit = 100;
    is_int(gpu_promised_bytes(gpu), 100 * GB, "its memory is promised");
    gpu->overcommit = 101;
    is_int(gpu_promised_bytes(gpu), 101 * GB, "or more");
    gpu->reserved = gpu->used = 50 * GB;
    is_int(gpu_free_bytes(gpu), GB, "less what is taken");
    gpu->used = 60 * GB;
    is_int(gpu_free_bytes(gpu), 0, "which may be more");
    ok(!gpu_is_instance(gpu), "it is whole");
    memcpy(gpu->uuid, "MIG-", 4);
    ok(gpu_is_instance(gpu), "or an instance");
    memcpy(gpu->uuid, "a-0", 4);
    for (int i = 0; i < 150; i++)
        written += box_may_write(box);
    ok(written >= 99 && written <= 101, "a box may cause a hundred writes at once");
    pool_free(&pool);
}

// ---- sums ----

static bool is_served(const struct pool_gpu *gpu)
{
    return gpu->present && gpu->ready && !gpu->drained;
}

static bool are_equal(const struct pool_gpu *a, const struct pool_gpu *b)
{
    return a->model == b->model && a->memory == b->memory && a->capability == b->capability &&
           a->parts == b->parts && a->sharing == b->sharing && a->automatic == b->automatic &&
           a->mode == b->mode && a->reserved == b->reserved && a->context == b->context &&
           a->overcommit == b->overcommit;
}

static bool idle_is_right(const struct pool_box *box, enum gpu_mode mode)
{
    const struct idle_gpus *idle = &box->idle[mode];
    const struct pool_gpu *first = NULL;
    uint32_t count = 0;
    bool alike = true;

    for (uint32_t i = 0; i < box->gpu_count; i++) {
        const struct pool_gpu *gpu = box->gpus[i];
        if (!is_served(gpu) || gpu->holders || (gpu->mode != mode && !gpu->automatic))
            continue;
        first = first ? first : gpu;
        alike &= are_equal(first, gpu);
        count++;
    }
    if (count != idle->count)
        return false;
    if (!count)
        return true;
    if (!alike || !idle->sample)
        return !alike == !idle->sample;
    return are_equal(idle->sample, first) && idle->model == first->model &&
           idle->memory == first->memory && idle->capability == first->capability &&
           idle->parts == first->parts && idle->free == gpu_free_bytes(first) &&
           idle->room == (first->memory < first->reserved + first->context
                              ? 0
                              : first->memory - first->reserved - first->context);
}

static bool sums_are_right(struct pool_box *box)
{
    uint32_t unheld = 0, missing = 0;
    uint64_t roomiest = 0, in_shares = 0;

    box->stale = true;
    box_count_free(box);
    for (uint32_t i = 0; i < box->gpu_count; i++) {
        const struct pool_gpu *gpu = box->gpus[i];
        bool shared = gpu->mode == GPU_SHARED || (gpu->automatic && !gpu->holders);
        missing += !gpu->present;
        if (!is_served(gpu))
            continue;
        unheld += !gpu->holders;
        in_shares |= (uint64_t)(gpu->holders && gpu->mode == GPU_SHARED) << i;
        if (shared && gpu_free_bytes(gpu) > roomiest)
            roomiest = gpu_free_bytes(gpu);
    }
    return !box->stale && box->unheld == unheld && box->missing == missing &&
           box->roomiest == roomiest && box->in_shares == in_shares &&
           idle_is_right(box, GPU_EXCLUSIVE) && idle_is_right(box, GPU_SHARED);
}

static void change(struct pool *pool, struct pool_gpu *gpu)
{
    switch (rand() % 12) {
    case 0: gpu->model = pool_intern_model(pool, rand() % 2 ? "H200" : "A100"); break;
    case 1: gpu->memory = (uint64_t)(rand() % 2 ? 100 : 80) * GB; break;
    case 2: gpu->capability = rand() % 2 ? 90 : 80; break;
    case 3: gpu->parts = rand() % 2; break;
    case 4: gpu->sharing = rand() % 2 ? GPU_BY_TIME : GPU_MPS_ALL; break;
    case 5: gpu->automatic = rand() % 2; break;
    case 6: gpu->mode = gpu->holders ? gpu->mode : (uint8_t)(rand() % GPU_MODES); break;
    case 7: gpu->reserved = (uint64_t)(rand() % 2) * GB; break;
    case 8: gpu->context = (uint64_t)(rand() % 2) * GB; break;
    case 9: gpu->present = rand() % 4; break;
    case 10: gpu->drained = rand() % 4 == 0; break;
    default:
        gpu->holders = (uint32_t)(rand() % 3);
        gpu->used = gpu->holders && gpu->mode == GPU_SHARED ? gpu->holders * 20 * GB : 0;
    }
}

static void test_sums(void)
{
    struct pool *pool = pool_new();
    struct pool_box *box = sample_box(pool, "a", 3, "H200", 100 * GB, GPU_EXCLUSIVE);
    bool right = true;

    srand(11);
    for (int i = 0; i < 20000 && right; i++) {
        if (i % 50 == 0) // all alike
            for (uint32_t j = 1; j < box->gpu_count; j++) {
                const struct pool_gpu *first = box->gpus[0];
                struct pool_gpu *gpu = box->gpus[j];
                gpu->model = first->model;
                gpu->memory = first->memory;
                gpu->capability = first->capability;
                gpu->parts = first->parts;
                gpu->sharing = first->sharing;
                gpu->automatic = first->automatic;
                gpu->mode = first->mode;
                gpu->reserved = first->reserved;
                gpu->context = first->context;
                gpu->holders = 0;
                gpu->used = 0;
            }
        change(pool, box->gpus[rand() % 3]);
        right = sums_are_right(box);
    }
    ok(right, "a box's sums are those of its GPUs, in any state");
    for (uint32_t j = 0; j < box->gpu_count; j++)
        box->gpus[j]->holders = 0;
    pool_free(&pool);
}

// ---- the queue ----

static void test_limit_of_a_user(void)
{
    struct pool *pool = pool_new();
    char id[16];

    for (int i = 0; i < QUEUE_MAX_OF_USER; i++) {
        struct pool_lease *lease;
        snprintf(id, sizeof(id), "L%d", i);
        ok(queue_has_room_for(pool->queue, 5), "lease %d may wait", i);
        lease = lease_of(pool, id, NULL, 0);
        lease->owner = 5;
        lease->state = LEASE_QUEUED;
        lease->request = sample_request(1 + (uint32_t)i % 3, GPU_EXCLUSIVE, 0);
        if (queue_join(pool->queue, lease))
            bail("no room");
    }
    ok(!queue_has_room_for(pool->queue, 5), "but no further one of this user");
    ok(queue_has_room_for(pool->queue, 6), "others may");
    pool_free(&pool);
}

int main(void)
{
    test_names();
    test_numbers();
    test_places();
    test_models();
    test_leases();
    test_loaded();
    test_holds();
    test_awaited();
    test_modes();
    test_service();
    test_sums();
    test_limit_of_a_user();
    return done();
}
