// SPDX-License-Identifier: BSD-3-Clause
// POST /v1/capacity: free GPUs and memory, how often requests fit, the GPUs of a scheduler's
// leases, and the leases to preempt, all at one instant. The query changes nothing.
#include <stdlib.h>
#include <string.h>

#include "broker/pool/capacity.h"
#include "tests/broker/pool_sample.h"

static struct pool *pool;
static json_t *view;

static void look(const char *requests, const char *request, const char *keys)
{
    json_t *list = json_loads(requests, 0, NULL),
           *one = request ? json_loads(request, 0, NULL) : NULL;
    json_t *victims = keys ? json_loads(keys, 0, NULL) : NULL;
    struct capacity_query query = {.key_prefix = "s/",
                                   .requests = list,
                                   .limit = 3,
                                   .request = one,
                                   .keys = victims,
                                   .sequence = UINT64_MAX};
    const char *why = "";

    json_decref(view);
    view = capacity_view(pool, &query, &why);
    if (!view)
        diag("%s", why);
    json_decref(list);
    json_decref(one);
    json_decref(victims);
}

static int number(const char *name)
{
    return (int)json_integer_value(json_object_get(view, name));
}
static int gigabytes(const char *name)
{
    return (int)((uint64_t)json_integer_value(json_object_get(view, name)) / GB);
}
static int now(size_t i)
{
    return (int)json_integer_value(
        json_object_get(json_array_get(json_object_get(view, "requests"), i), "now"));
}
static bool ever(size_t i)
{
    return json_is_true(
        json_object_get(json_array_get(json_object_get(view, "requests"), i), "ever"));
}
static const char *why(size_t i)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(view, "requests"), i), "why"));
}
static const char *preempted(void)
{
    static char text[256];
    json_t *key;
    size_t i;

    text[0] = '\0';
    json_array_foreach(json_object_get(view, "preempt"), i, key)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
                 json_string_value(key));
    return text;
}

// A lease of the scheduler's with one GPU.
static void hold(const char *key, struct pool_gpu *gpu, enum gpu_mode mode, uint64_t memory)
{
    struct pool_lease *lease = lease_new();

    lease->key = strdup(key);
    lease->key_owner = KEYS_OF_SCHEDULERS;
    lease->state = LEASE_GRANTED;
    snprintf(lease->id, sizeof(lease->id), "L%s", key);
    lease->hold_count = 1;
    lease->holds = calloc(1, sizeof(*lease->holds));
    if (!lease->holds || pool_add_lease(pool, lease) < 0)
        bail("no lease");
    lease->holds[0] = (struct pool_hold){.gpu = gpu,
                                         .box = gpu->box,
                                         .mode = mode,
                                         .memory = memory,
                                         .context = mode == GPU_SHARED ? GB : 0};
    pool_take(&lease->holds[0]);
}

static void free_things(struct pool_box *whole, struct pool_box *shared)
{
    look("[]", NULL, NULL);
    is_int(number("known"), 6, "all GPUs are known");
    is_int(number("gpus"), 4, "whole ones are free");
    is_int(gigabytes("memory"), 2 * 99, "and memory of the others, less a context on each");
    whole->drained = true;
    look("[]", NULL, NULL);
    is_int(number("gpus"), 0, "those of a drained box are not free");
    is_int(number("known"), 6, "but known");
    whole->drained = false;
    shared->gpus[0]->automatic = true;
    look("[]", NULL, NULL);
    is_int(number("gpus"), 5, "one that may change its mode counts as whole");
    is_int(gigabytes("memory"), 2 * 99, "and in shares");
    shared->gpus[0]->automatic = false;
}

static void requests(void)
{
    look(
        "[{\"gpus\": [{}]}, {\"gpus\": [{\"count\": 2}], \"same_box\": true},"
        " {\"gpus\": [{\"mode\": \"shared\", \"memory\": 53687091200}]}, {\"gpus\": [{\"count\": 7}]},"
        " {\"gpus\": [{\"count\": 4}], \"model\": \"*H200*\"}, {\"gpus\": [{}], \"model\": \"none\"},"
        " {\"gpus\": [{\"count\": 4}], \"different_boxes\": true},"
        " {\"gpus\": [{\"count\": 3, \"mode\": \"shared\", \"memory\": 1073741824}]}]",
        NULL, NULL);
    is_int(now(0), 3, "no further than the limit");
    is_int(now(1), 2, "two of one box fit twice");
    is_int(now(2), 2, "a share of half and more of a GPU once on each");
    is_int(now(3) + ever(3), 0, "more than there are: never");
    ok(now(4) == 1 && ever(4), "all of a model, once");
    ok(now(5) == 0 && !ever(5), "one that is not there: never");
    is_str(why(5), "the pool has no GPUs of model none; it wants 1", "with the reason");
    is_str(
        why(6),
        "4 GPUs are of its kind, but not together as it wants them; it wants 4 of different boxes",
        "also where there are too few boxes");
    is_str(
        why(7),
        "2 of 6 GPUs of its kind are given in shares; it wants 3; an administrator allows both by "
        "rgpuctl mode GPU auto",
        "and where their mode is another one");
    is_int(number("gpus"), 4, "all of it is still free");
    look("[{\"gpus\": [{\"count\": 0}]}]", NULL, NULL);
    ok(!view, "a request that is none is refused");
}

static void leases(struct pool_box *whole, struct pool_box *shared)
{
    json_t *list, *entry;
    size_t i;
    int gpus = 0, bytes = 0;

    hold("s/1", whole->gpus[0], GPU_EXCLUSIVE, 0);
    hold("s/2", whole->gpus[1], GPU_EXCLUSIVE, 0);
    hold("s/3", whole->gpus[2], GPU_EXCLUSIVE, 0);
    hold("s/4", shared->gpus[0], GPU_SHARED, 60 * GB);
    hold("other/5", whole->gpus[3], GPU_EXCLUSIVE, 0);
    look("[{\"gpus\": [{}]}, {\"gpus\": [{\"mode\": \"shared\", \"memory\": 42949672960}]}]", NULL,
         NULL);
    list = json_object_get(view, "leases");
    json_array_foreach(list, i, entry) {
        gpus += (int)json_integer_value(json_object_get(entry, "gpus"));
        bytes += (int)((uint64_t)json_integer_value(json_object_get(entry, "memory")) / GB);
    }
    is_int((int)json_array_size(list), 4, "leases with such keys");
    is_int(gpus, 3, "hold whole GPUs");
    is_int(bytes, 60, "and shares");
    ok(now(0) == 0 && ever(0), "a whole one must be waited for");
    is_int(now(1), 2, "a share is there beside the other, and on the other GPU");
}

static void victims(struct pool_box *whole)
{
    const char *all = "[\"s/1\", \"s/2\", \"s/3\", \"s/4\", \"other/6\", \"no such\", 3]";

    look("[]", "{\"gpus\": [{}]}", all);
    is_str(preempted(), "s/1", "for one GPU the first goes");
    look("[]", "{\"gpus\": [{\"count\": 2}]}", "[\"s/4\", \"s/3\", \"s/2\"]");
    is_str(preempted(), "s/3 s/2", "who has none that is of use stays");
    look("[]", "{\"gpus\": [{\"count\": 4}]}", all);
    is_str(preempted(), "", "where all would not be enough, none");
    look("[]", "{\"gpus\": [{\"mode\": \"shared\", \"memory\": 1073741824}]}", all);
    is_str(preempted(), "", "where it fits anyway, none");
    look("[]", "{\"gpus\": 3}", all);
    ok(view && json_is_null(json_object_get(view, "preempt")),
       "a request that is none makes no room");
    is_int((int)(whole->gpus[0]->holders + whole->gpus[1]->holders + whole->gpus[2]->holders), 3,
           "and nothing was taken from anybody");
}

// Three shares are on one GPU. One of the first two and the last make enough room, as do all.
static void cheapest_victims(void)
{
    struct pool_box *box = sample_box(pool, "v", 1, "H100", 100 * GB, GPU_SHARED);

    hold("s/1", box->gpus[0], GPU_SHARED, 20 * GB);
    hold("s/2", box->gpus[0], GPU_SHARED, 30 * GB);
    hold("s/3", box->gpus[0], GPU_SHARED, 40 * GB);
    look("[]", "{\"gpus\": [{\"mode\": \"shared\", \"memory\": 64424509440}]}",
         "[\"s/1\", \"s/2\", \"s/3\"]");
    is_str(preempted(), "s/1 s/3", "who is not needed and costs most stays");
}

// The lease of a victim is on its way to another GPU, which the query leaves reserved for it.
static void moving_victims(struct pool_box *whole)
{
    struct pool_hold *moving = &pool_find_key(pool, KEYS_OF_SCHEDULERS, "s/2")->holds[0];
    struct pool_hold *other = &pool_find_key(pool, KEYS_OF_SCHEDULERS, "other/5")->holds[0];

    pool_give_back(other);
    pool_reserve(moving, whole->gpus[3]);
    look("[]", "{\"gpus\": [{\"count\": 2}]}", "[\"s/2\"]");
    is_str(preempted(), "s/2", "its end would give back both GPUs");
    ok(moving->held && moving->target == whole->gpus[3], "it still has both");
    is_int((int)(whole->gpus[1]->holders + whole->gpus[3]->holders), 2, "as have the GPUs");
    look("[]", "{\"gpus\": [{}]}", "[\"s/1\", \"s/2\"]");
    ok(moving->target == whole->gpus[3], "also if another one is chosen");
    pool_unreserve(moving);
    pool_take(other);
}

// ---- forecasts ----

static json_t *json_of(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    if (!value)
        bail("%s", text);
    return value;
}

static const char *asker = "s/";

static void foresee(const char *requests, const char *holders, const char *waiting,
                    const char *next)
{
    json_t *lists[] = {json_of(requests), json_of(holders), json_of(waiting), json_of(next)};
    struct capacity_query query = {.key_prefix = asker,
                                   .requests = lists[0],
                                   .limit = 16,
                                   .holders = lists[1],
                                   .waiting = lists[2],
                                   .next = lists[3],
                                   .sequence = UINT64_MAX};
    const char *why = "";

    json_decref(view);
    view = capacity_view(pool, &query, &why);
    for (size_t i = 0; i < 4; i++)
        json_decref(lists[i]);
    if (!view)
        bail("%s", why);
}

static int total(size_t i)
{
    return (int)json_integer_value(
        json_object_get(json_array_get(json_object_get(view, "requests"), i), "total"));
}

// Returns as JSON what each job takes.
static const char *takes(void)
{
    static char text[512];
    char *dump = json_dumps(json_object_get(view, "holders"), JSON_COMPACT);

    snprintf(text, sizeof(text), "%s", dump);
    free(dump);
    return text;
}

// Request 0: any GPU; 1: one of box a; 2: two of one box.
#define THREE_REQUESTS \
    "[{\"gpus\": [{}]}, {\"gpus\": [{}], \"box\": \"a\"}, {\"gpus\": [{\"count\": 2}], \"same_box\": true}]"

static void forecasts(void)
{
    struct pool_box *a = sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_box *b = sample_box(pool, "b", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0);
    struct plan plan = {0};

    hold("s/1/5", a->gpus[0], GPU_EXCLUSIVE, 0);
    hold("s/2/5", a->gpus[1], GPU_EXCLUSIVE, 0);
    hold("s/3/5", b->gpus[0], GPU_EXCLUSIVE, 0);
    foresee(THREE_REQUESTS, "[\"s/1\", \"s/2\", \"s/3\", \"s/4\"]", "[]", "[]");
    ok(total(0) == 4 && total(1) == 2 && total(2) == 2,
       "the total of a request does not depend on what jobs hold");
    ok(now(0) == 1 && now(1) == 0 && now(2) == 0, "what fits just now does");
    is_str(takes(), "[[[0,1],[1,1],[2,1]],[[0,1],[1,1]],[[0,1],[2,1]],null]",
           "each job takes from the requests that its GPU suits, and the first of two most");
    foresee(THREE_REQUESTS, "[\"s/2\", \"s/3\"]", "[]", "[]");
    ok(total(0) == 3 && total(1) == 1 && total(2) == 1, "what is held by others is not there");
    foresee(THREE_REQUESTS, "[\"s/3\", \"s/2\", \"s/1\"]", "[2]", "[2]");
    is_int(total(2), 2, "the request that is next loses nothing by that");
    ok(total(0) == 2 && total(1) == 0,
       "others do not have the GPUs that it will get, which are those that are free first");
    ok(a->gpus[0]->kept && a->gpus[1]->kept && !b->gpus[0]->kept && a->gpus[0]->holders == 1,
       "which are marked, and held as before");
    pool_give_back(&pool_find_lease(pool, "Ls/1/5")->holds[0]);
    ok(plan_make(pool, &one, UINT64_MAX, &plan) == OUTCOME_DONE && plan.slots[0].gpu->box == b,
       "a request that any GPU suits goes elsewhere");
    plan_clear(&plan);
    pool_take(&pool_find_lease(pool, "Ls/2/5")->holds[0]);
    hold("s/4/5", b->gpus[1], GPU_EXCLUSIVE, 0);
    ok(plan_try(pool, &one, UINT64_MAX, &plan) == OUTCOME_BUSY,
       "and waits although a GPU is free that is kept");
    asker = "t/";
    foresee(THREE_REQUESTS, "[]", "[]", "[]");
    ok(a->gpus[0]->kept, "another scheduler that has nothing to plan changes nothing");
    asker = "s/";
    foresee(THREE_REQUESTS, "[]", "[]", "[]");
    is_int((int)(a->gpus[0]->sought + a->gpus[0]->kept), 0, "until nothing waits");
}

// All parts of a next request are planned.
static void forecasts_of_parts(void)
{
    struct pool_box *box = sample_box(pool, "p", 6, "H100", 100 * GB, GPU_EXCLUSIVE);
    unsigned kept = 0;

    foresee("[{\"gpus\": [{}, {\"count\": 5}]}]", "[]", "[0]", "[0]");
    for (uint32_t i = 0; i < box->gpu_count; i++)
        kept += box->gpus[i]->kept;
    is_int((int)kept, 6, "the GPUs of all parts of the next request are kept");
    foresee("[]", "[]", "[]", "[]");
}

static void forecasts_of_shares(void)
{
    struct pool_box *box = sample_box(pool, "c", 1, "H100", 100 * GB, GPU_EXCLUSIVE);

    box->gpus[0]->automatic = true;
    hold("s/7/5", box->gpus[0], GPU_SHARED, 30 * GB);
    foresee("[{\"gpus\": [{}]}, {\"gpus\": [{\"mode\": \"shared\", \"memory\": 32212254720}]}]",
            "[\"s/7\"]", "[]", "[]");
    ok(total(0) == 1 && total(1) == 3, "a GPU that changes its mode counts in both");
    is_str(takes(), "[[[0,1],[1,1]]]", "and a job takes from both");
    ok(number("all_gpus") == 1 && number("gpus_in_shares") == 1 && number("memory_in_whole") == 0,
       "also where GPUs are counted");
    is_int(box->gpus[0]->mode, GPU_SHARED, "the mode is as before");
    hold("s/8/5", box->gpus[0], GPU_SHARED, 30 * GB);
    foresee("[]", "[\"s/7\", \"s/8\"]", "[]", "[]");
    ok(number("all_gpus") == 1 && number("gpus_in_shares") == 1, "two shares are of one GPU");
    pool_remove_lease(pool, pool_find_lease(pool, "Ls/8/5"));
}

// ---- forecasts of many pools ----

enum { BOXES = 3, JOBS_MAX = 8 };

#define FIVE_REQUESTS \
    "[{\"gpus\": [{}]}, {\"gpus\": [{}], \"box\": \"b1\"}, {\"gpus\": [{\"count\": 2}], \"same_box\": true}," \
    " {\"gpus\": [{\"count\": 3}]}, {\"gpus\": [{\"count\": 2}], \"different_boxes\": true}]"
#define ALL_JOBS "[\"s/0\",\"s/1\",\"s/2\",\"s/3\",\"s/4\",\"s/5\",\"s/6\",\"s/7\"]"

// Returns true if after the end of each job there is of each request what the forecast said, when
// jobs end in the reverse order of the list.
static bool comes_true(void)
{
    int left[5], requests = 5;
    json_t *first, *pair;
    size_t i;

    foresee(FIVE_REQUESTS, ALL_JOBS, "[]", "[]");
    for (int r = 0; r < requests; r++)
        left[r] = now(r);
    first = json_incref(json_object_get(view, "holders"));
    for (int job = JOBS_MAX - 1; job >= 0; job--) {
        char id[16];
        struct pool_lease *lease;
        snprintf(id, sizeof(id), "Ls/%d/1", job);
        lease = pool_find_lease(pool, id);
        if (!lease)
            continue;
        pool_remove_lease(pool, lease);
        json_array_foreach(json_array_get(first, (size_t)job), i, pair)
            left[json_integer_value(json_array_get(pair, 0))] +=
                (int)json_integer_value(json_array_get(pair, 1));
        foresee(FIVE_REQUESTS, ALL_JOBS, "[]", "[]");
        for (int r = 0; r < requests; r++)
            if (left[r] != now(r))
                return false;
    }
    json_decref(first);
    return true;
}

static void forecasts_come_true(void)
{
    int wrong = 0;

    srand(7);
    for (int round = 0; round < 200; round++) {
        struct pool_box *boxes[BOXES];
        char name[16];
        int jobs = 1 + rand() % JOBS_MAX;

        pool_free(&pool);
        pool = pool_new();
        for (int i = 0; i < BOXES; i++) {
            snprintf(name, sizeof(name), "b%d", i);
            boxes[i] = sample_box(pool, name, 1 + rand() % 4, "H200", 100 * GB, GPU_EXCLUSIVE);
        }
        for (int job = 0; job < jobs; job++) {
            struct pool_box *box = boxes[rand() % BOXES];
            struct pool_gpu *gpu = box->gpus[(uint32_t)rand() % box->gpu_count];
            if (gpu->holders)
                continue;
            snprintf(name, sizeof(name), "s/%d/1", job);
            hold(name, gpu, GPU_EXCLUSIVE, 0);
        }
        wrong += !comes_true();
    }
    is_int(wrong, 0, "what is forecast for the end of each job is so, in 200 pools");
}

// ---- forecasts of shares, in many pools ----

#define FOUR_REQUESTS \
    "[{\"gpus\": [{}]}, {\"gpus\": [{\"mode\": \"shared\", \"memory\": 32212254720}]}," \
    " {\"gpus\": [{\"mode\": \"shared\", \"memory\": 53687091200, \"count\": 2}], \"same_box\": true}," \
    " {\"gpus\": [{\"mode\": \"shared\", \"memory\": 1073741824}], \"compute\": 40}]"

static struct pool_box *random_box(const char *name)
{
    struct pool_box *box = sample_box(pool, name, 1 + rand() % 3, "H200", 100 * GB, GPU_EXCLUSIVE);

    for (uint32_t i = 0; i < box->gpu_count; i++) {
        struct pool_gpu *gpu = box->gpus[i];
        gpu->mode = rand() % 3 ? GPU_SHARED : GPU_EXCLUSIVE;
        gpu->automatic = rand() % 3 == 0;
        gpu->sharing = GPU_MPS_ALL;
        gpu->parts = true;
        gpu->reserved = (uint64_t)(rand() % 2) * GB;
        gpu->drained = rand() % 8 == 0;
    }
    return box;
}

static void random_job(int job, struct pool_gpu *gpu)
{
    enum gpu_mode mode = gpu->holders     ? gpu->mode
                         : gpu->automatic ? (enum gpu_mode)(rand() % 2)
                                          : (enum gpu_mode)gpu->mode;
    uint64_t memory = mode == GPU_SHARED ? (uint64_t)(10 + rand() % 50) * GB : 0;
    char name[16];

    if (mode == GPU_EXCLUSIVE ? gpu->holders > 0 : gpu_free_bytes(gpu) < memory + GB)
        return;
    snprintf(name, sizeof(name), "s/%d/1", job);
    hold(name, gpu, mode, memory);
}

// Once all jobs have ended there is as much of everything as was said in all.
static bool totals_come_true(void)
{
    int totals[4], each[4];
    json_int_t gpus, whole = 0;
    struct pool_lease *lease;
    bool same = true;

    foresee(FOUR_REQUESTS, ALL_JOBS, "[]", "[]");
    for (size_t r = 0; r < 4; r++) {
        totals[r] = total(r);
        each[r] = (int)json_integer_value(
            json_object_get(json_array_get(json_object_get(view, "requests"), r), "each"));
    }
    gpus = json_integer_value(json_object_get(view, "all_gpus"));
    while ((lease = TAILQ_FIRST(&pool->leases)))
        pool_remove_lease(pool, lease);
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++) {
            const struct pool_gpu *gpu = pool->boxes[i]->gpus[j];
            whole += !gpu->drained && (gpu->automatic || gpu->mode == GPU_EXCLUSIVE);
        }
    same &= gpus >= whole; // one that is drained and held comes back, too
    foresee(FOUR_REQUESTS, ALL_JOBS, "[]", "[]");
    for (size_t r = 0; r < 4; r++)
        same &= totals[r] == total(r) && (now((int)r) == total(r) || total(r) > 16) &&
                each[r] == (int)json_integer_value(json_object_get(
                               json_array_get(json_object_get(view, "requests"), r), "each"));
    return same;
}

// Describes all GPUs and holds.
static void describe_pool(char *text, size_t size)
{
    const struct pool_lease *lease;

    *text = '\0';
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++) {
            const struct pool_gpu *gpu = pool->boxes[i]->gpus[j];
            snprintf(text + strlen(text), size - strlen(text), "%s %u %llu %u %u %u; ", gpu->uuid,
                     gpu->holders, (unsigned long long)gpu->used, gpu->mode, gpu->computing,
                     pool->boxes[i]->holders);
        }
    TAILQ_FOREACH(lease, &pool->leases, all)
        for (size_t i = 0; i < lease->hold_count; i++)
            snprintf(text + strlen(text), size - strlen(text), "%s %d %d %s; ", lease->id,
                     lease->holds[i].held, lease->holds[i].aside,
                     lease->holds[i].target ? lease->holds[i].target->uuid : "-");
}

// Some leases are suspended: their GPUs are kept aside, or other leases have them.
static void suspend_some(void)
{
    struct pool_lease *lease;

    TAILQ_FOREACH(lease, &pool->leases, all) {
        if (rand() % 3)
            continue;
        pool_give_back(&lease->holds[0]);
        lease->holds[0].aside = true;
        pool_set_suspension(pool, lease, LEASE_AWAY);
    }
}

// A new pool of two boxes.
static void random_boxes(struct pool_box *boxes[2])
{
    pool_free(&pool);
    pool = pool_new();
    boxes[0] = random_box("b0");
    boxes[1] = random_box("b1");
}

// Forecasts, and searches for leases to preempt, take and give back as they look ahead.
static void looks_change_nothing(void)
{
    static char before[8000], after[8000];
    int wrong = 0;

    srand(23);
    for (int round = 0; round < 100; round++) {
        struct pool_box *boxes[2];

        random_boxes(boxes);
        for (int job = 0; job < JOBS_MAX; job++) {
            if (job == JOBS_MAX / 2)
                suspend_some();
            random_job(job, boxes[rand() % 2]->gpus[0]);
        }
        describe_pool(before, sizeof(before));
        foresee(FOUR_REQUESTS, ALL_JOBS, "[1, 2]", "[0, 1]");
        describe_pool(after, sizeof(after));
        wrong += strcmp(before, after) != 0;
        look("[]", "{\"gpus\": [{\"count\": 2}]}",
             "[\"s/0/1\",\"s/1/1\",\"s/2/1\",\"s/3/1\",\"s/4/1\",\"s/5/1\",\"s/6/1\",\"s/7/1\"]");
        describe_pool(after, sizeof(after));
        wrong += strcmp(before, after) != 0;
    }
    is_int(wrong, 0, "looking ahead changes nothing, in 100 pools");
}

static void totals_of_shares(void)
{
    int wrong = 0;

    srand(17);
    for (int round = 0; round < 200; round++) {
        struct pool_box *boxes[2];

        random_boxes(boxes);
        for (int job = 0; job < JOBS_MAX; job++) {
            struct pool_box *box = boxes[rand() % 2];
            random_job(job, box->gpus[(uint32_t)rand() % box->gpu_count]);
        }
        wrong += !totals_come_true();
    }
    is_int(wrong, 0, "totals are what is there once all jobs have ended, in 200 pools of shares");
}

int main(void)
{
    struct pool_box *whole, *shared;

    pool = pool_new();
    whole = sample_box(pool, "a", 4, "H200", 100 * GB, GPU_EXCLUSIVE);
    shared = sample_box(pool, "b", 2, "H100", 100 * GB, GPU_SHARED);
    free_things(whole, shared);
    requests();
    leases(whole, shared);
    victims(whole);
    moving_victims(whole);
    pool_free(&pool);
    pool = pool_new();
    cheapest_victims();
    pool_free(&pool);
    pool = pool_new();
    forecasts();
    pool_free(&pool);
    pool = pool_new();
    forecasts_of_parts();
    pool_free(&pool);
    pool = pool_new();
    forecasts_of_shares();
    forecasts_come_true();
    totals_of_shares();
    looks_change_nothing();
    json_decref(view);
    pool_free(&pool);
    return done();
}
