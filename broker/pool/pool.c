// SPDX-License-Identifier: BSD-3-Clause
// Index of boxes, GPUs and leases in memory.
#include "broker/pool/pool.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/queue.h"
#include "common/base/assert.h"
#include "common/base/clock.h"

const char *const gpu_sharing_names[] = {"time", "mps-lease", "mps-user", "mps-all", NULL};
const char *const gpu_mode_names[] = {
    [GPU_EXCLUSIVE] = "exclusive",
    [GPU_SHARED] = "shared",
    NULL,
};
const char *const policy_names[] = {
    [POLICY_PACK] = "pack",
    [POLICY_SPREAD] = "spread",
    [POLICY_BEST_FIT] = "best-fit",
    NULL,
};
// A lease that runs has no word.
const char *const lease_suspension_names[] = {
    [LEASE_HERE] = "",
    [LEASE_AWAY] = "suspended",
    [LEASE_RETURNING] = "returning",
    NULL,
};
const char *const lease_state_names[] = {
    [LEASE_QUEUED] = "queued", [LEASE_GRANTED] = "granted", [LEASE_LOST] = "lost",
    [LEASE_ENDING] = "ending", [LEASE_ENDED] = "ended",     NULL,
};

int pool_parse_name(const char *const *names, const char *name)
{
    for (int i = 0; name && names[i]; i++)
        if (!strcmp(names[i], name))
            return i;
    return -EINVAL;
}

static int compare_boxes(const void *a, const void *b)
{
    return strcmp(((const struct pool_box *)a)->name, ((const struct pool_box *)b)->name);
}

static int compare_gpus(const void *a, const void *b)
{
    return strcmp(((const struct pool_gpu *)a)->uuid, ((const struct pool_gpu *)b)->uuid);
}

static int pool_compare_leases(const void *a, const void *b)
{
    return strcmp(((const struct pool_lease *)a)->id, ((const struct pool_lease *)b)->id);
}

static int compare_keys(const void *a, const void *b)
{
    const struct pool_lease *left = a, *right = b;

    if (left->key_owner != right->key_owner)
        return left->key_owner < right->key_owner ? -1 : 1;
    return strcmp(left->key, right->key);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void *found(void *node)
{
    return node ? *(void **)node : NULL;
}

struct pool *pool_new(void)
{
    struct pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return NULL;
    TAILQ_INIT(&pool->leases);
    TAILQ_INIT(&pool->ending);
    TAILQ_INIT(&pool->returning);
    TAILQ_INIT(&pool->displaced);
    TAILQ_INIT(&pool->orders);
    pool->queue = queue_new();
    if (!pool->queue) {
        free(pool);
        return NULL;
    }
    return pool;
}

static void forget_drain(struct drain *drain)
{
    free(drain->reason);
    free(drain->by);
    *drain = (struct drain){0};
}

char *pool_copy_text(const char *text)
{
    char *copy = text && *text ? strdup(text) : NULL;

    if (text && *text && !copy)
        abort();
    return copy;
}

void drain_set(struct drain *drain, struct drain *said)
{
    forget_drain(drain);
    *drain = *said;
    *said = (struct drain){0};
}

const struct drain *gpu_drain(const struct pool_gpu *gpu)
{
    return gpu->drained ? &gpu->drain : gpu->box && gpu->box->drained ? &gpu->box->drain : NULL;
}

static void free_gpu(void *node)
{
    struct pool_gpu *gpu = node;

    forget_drain(&gpu->drain);
    free(gpu);
}

static void free_box(struct pool_box *box)
{
    forget_drain(&box->drain);
    free(box);
}

static void pool_keep_nothing(void *node)
{
    (void)node;
}

void pool_free(struct pool **pointer)
{
    struct pool *pool = *pointer;
    struct pool_lease *lease;

    if (!pool)
        return;
    while ((lease = TAILQ_FIRST(&pool->leases)))
        pool_remove_lease(pool, lease);
    tdestroy(pool->leases_by_id, pool_keep_nothing);
    tdestroy(pool->leases_by_key, pool_keep_nothing);
    tdestroy(pool->boxes_by_name, pool_keep_nothing);
    tdestroy(pool->gpus_by_uuid, free_gpu);
    tdestroy(pool->models, free);
    for (size_t i = 0; i < pool->box_count; i++)
        free_box(pool->boxes[i]);
    free(pool->boxes);
    queue_free(&pool->queue);
    free(pool);
    *pointer = NULL;
}

struct pool_box *pool_find_box(const struct pool *pool, const char *name)
{
    struct pool_box key;

    if (strlen(name) >= sizeof(key.name))
        return NULL;
    strcpy(key.name, name);
    return found(tfind(&key, &pool->boxes_by_name, compare_boxes));
}

struct pool_gpu *pool_find_gpu(const struct pool *pool, const char *uuid)
{
    struct pool_gpu key;

    if (strlen(uuid) >= sizeof(key.uuid))
        return NULL;
    strcpy(key.uuid, uuid);
    return found(tfind(&key, &pool->gpus_by_uuid, compare_gpus));
}

struct pool_gpu *pool_gpu_named(const struct pool *pool, const char *name)
{
    struct pool_gpu *gpu = pool_find_gpu(pool, name);
    const char *colon = strrchr(name, ':');
    char box_name[POOL_NAME_MAX];
    struct pool_box *box = NULL;

    if (!gpu && colon && (size_t)(colon - name) < sizeof(box_name)) {
        memcpy(box_name, name, (size_t)(colon - name));
        box_name[colon - name] = '\0';
        box = pool_find_box(pool, box_name);
    }
    for (uint32_t i = 0; box && i < box->gpu_count; i++)
        if (box->gpus[i]->index == (uint32_t)atoi(colon + 1))
            gpu = box->gpus[i];
    return gpu;
}

struct pool_lease *pool_find_lease(const struct pool *pool, const char *id)
{
    struct pool_lease key;

    if (strlen(id) >= sizeof(key.id))
        return NULL;
    strcpy(key.id, id);
    return found(tfind(&key, &pool->leases_by_id, pool_compare_leases));
}

struct pool_lease *pool_find_key(const struct pool *pool, int64_t key_owner, const char *key)
{
    struct pool_lease wanted = {.key = (char *)key, .key_owner = key_owner};

    return found(tfind(&wanted, &pool->leases_by_key, compare_keys));
}

struct pool_box *pool_add_box(struct pool *pool, const char *name)
{
    struct pool_box *box = aligned_alloc(_Alignof(struct pool_box), sizeof(*box));
    struct pool_box **boxes = realloc(pool->boxes, (pool->box_count + 1) * sizeof(*boxes));

    if (boxes)
        pool->boxes = boxes;
    if (!box || !boxes || strlen(name) >= sizeof(box->name))
        goto drop;
    memset(box, 0, sizeof(*box));
    strcpy(box->name, name);
    if (!tsearch(box, &pool->boxes_by_name, compare_boxes))
        goto drop;
    pool->boxes[pool->box_count++] = box;
    return box;
drop:
    free(box);
    return NULL;
}

struct pool_gpu *pool_add_gpu(struct pool *pool, const char *uuid)
{
    struct pool_gpu *gpu = aligned_alloc(_Alignof(struct pool_gpu), sizeof(*gpu));

    if (!gpu || strlen(uuid) >= sizeof(gpu->uuid))
        goto drop;
    memset(gpu, 0, sizeof(*gpu));
    strcpy(gpu->uuid, uuid);
    gpu->model = "";
    if (!tsearch(gpu, &pool->gpus_by_uuid, compare_gpus))
        goto drop;
    pool->gpu_count++;
    return gpu;
drop:
    free(gpu);
    return NULL;
}

static void leave_box(struct pool_gpu *gpu)
{
    struct pool_box *box = gpu->box;

    if (box)
        box->stale = true;
    for (uint32_t i = 0; box && i < box->gpu_count; i++) {
        if (box->gpus[i] != gpu)
            continue;
        memmove(&box->gpus[i], &box->gpus[i + 1], (--box->gpu_count - i) * sizeof(gpu));
        break;
    }
    gpu->box = NULL;
}

// Keeps the GPUs of a box in the order of their numbers.
int pool_place_gpu(struct pool_gpu *gpu, struct pool_box *box)
{
    uint32_t at;

    if (gpu->box != box && box->gpu_count == POOL_GPUS_PER_BOX)
        return -ENOSPC;
    leave_box(gpu);
    for (at = box->gpu_count; at > 0 && box->gpus[at - 1]->index > gpu->index; at--)
        box->gpus[at] = box->gpus[at - 1];
    box->gpus[at] = gpu;
    box->gpu_count++;
    box->stale = true;
    gpu->box = box;
    return 0;
}

const char *pool_intern_model(struct pool *pool, const char *model)
{
    char *known = found(tfind(model, &pool->models, compare_texts));

    if (known)
        return known;
    known = strdup(model);
    if (known && !tsearch(known, &pool->models, compare_texts)) {
        free(known);
        known = NULL;
    }
    pool->new_models++;
    return known ? known : "";
}

// The models of the GPUs that are left, while pool_forget_models() frees all others.
static void *models_in_use;

static void free_unused_model(void *model)
{
    if (found(tfind(model, &models_in_use, compare_texts)) != model)
        free(model);
}

void pool_forget_models(struct pool *pool)
{
    if (pool->new_models < POOL_NEW_MODELS)
        return;
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++) {
            const char *model = pool->boxes[i]->gpus[j]->model;
            if (*model && !tsearch(model, &models_in_use, compare_texts))
                abort();
        }
    tdestroy(pool->models, free_unused_model);
    pool->models = models_in_use;
    models_in_use = NULL;
    pool->new_models = 0;
}

bool pool_names_gpu(const struct pool *pool, const struct pool_gpu *gpu)
{
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &pool->leases, all)
        for (size_t i = 0; i < lease->hold_count; i++)
            if (lease->holds[i].gpu == gpu || lease->holds[i].target == gpu)
                return true;
    return false;
}

void pool_remove_gpu(struct pool *pool, struct pool_gpu *gpu)
{
    pool->freed_count = POOL_FREED_MAX + 1; // it may be in the list
    leave_box(gpu);
    tdelete(gpu, &pool->gpus_by_uuid, compare_gpus);
    pool->gpu_count--;
    free_gpu(gpu);
}

void pool_remove_box(struct pool *pool, struct pool_box *box)
{
    while (box->gpu_count > 0)
        pool_remove_gpu(pool, box->gpus[0]);
    tdelete(box, &pool->boxes_by_name, compare_boxes);
    if (box->has_orders)
        TAILQ_REMOVE(&pool->orders, box, orders);
    for (size_t i = 0; i < pool->box_count; i++) {
        if (pool->boxes[i] == box) {
            memmove(&pool->boxes[i], &pool->boxes[i + 1],
                    (--pool->box_count - i) * sizeof(*pool->boxes));
            break;
        }
    }
    free_box(box);
    pool->generation++;
}

struct pool_lease *lease_new(void)
{
    return calloc(1, sizeof(struct pool_lease));
}

void lease_free(struct pool_lease **lease)
{
    if (!*lease)
        return;
    free((*lease)->key);
    free((*lease)->reason);
    free((*lease)->refusal);
    free((*lease)->stays);
    free((*lease)->holds);
    free(*lease);
    *lease = NULL;
}

int pool_add_lease(struct pool *pool, struct pool_lease *lease)
{
    if (!tsearch(lease, &pool->leases_by_id, pool_compare_leases))
        return -ENOMEM;
    if (lease->key && !tsearch(lease, &pool->leases_by_key, compare_keys)) {
        tdelete(lease, &pool->leases_by_id, pool_compare_leases);
        return -ENOMEM;
    }
    TAILQ_INSERT_TAIL(&pool->leases, lease, all);
    if (lease->state == LEASE_ENDING)
        TAILQ_INSERT_TAIL(&pool->ending, lease, ending);
    if (lease->suspension == LEASE_RETURNING)
        TAILQ_INSERT_TAIL(&pool->returning, lease, returning);
    pool_note_displaced(pool, lease);
    pool->lease_count++;
    return 0;
}

void pool_note_displaced(struct pool *pool, struct pool_lease *lease)
{
    bool displaced = lease->suspension != LEASE_HERE;

    for (size_t i = 0; i < lease->hold_count; i++)
        displaced |= lease->holds[i].moved || lease->holds[i].target;
    if (!displaced || lease->is_displaced)
        return;
    lease->is_displaced = true;
    TAILQ_INSERT_TAIL(&pool->displaced, lease, displaced);
}

void pool_move_lease(struct pool *pool, struct pool_lease *lease, enum lease_state state)
{
    if (lease->state == LEASE_ENDING && state != LEASE_ENDING)
        TAILQ_REMOVE(&pool->ending, lease, ending);
    if (lease->state != LEASE_ENDING && state == LEASE_ENDING)
        TAILQ_INSERT_TAIL(&pool->ending, lease, ending);
    lease->state = state;
}

void pool_set_suspension(struct pool *pool, struct pool_lease *lease,
                         enum lease_suspension suspension)
{
    if (lease->suspension == LEASE_RETURNING && suspension != LEASE_RETURNING) {
        TAILQ_REMOVE(&pool->returning, lease, returning);
        for (size_t i = 0; i < lease->hold_count; i++)
            pool_note_freed(pool, lease->holds[i].gpu); // others may have it unless it is taken
    }
    if (lease->suspension != LEASE_RETURNING && suspension == LEASE_RETURNING)
        TAILQ_INSERT_TAIL(&pool->returning, lease, returning);
    lease->suspension = suspension;
    pool_note_displaced(pool, lease);
}

bool pool_is_awaited(const struct pool *pool, const struct pool_gpu *gpu,
                     const struct pool_lease *lease)
{
    const struct pool_lease *earlier;

    TAILQ_FOREACH(earlier, &pool->returning, returning) {
        if (earlier == lease)
            return false;
        if (lease_holds_gpu(earlier, gpu))
            return true;
    }
    return false;
}

void pool_order(struct pool *pool, struct pool_box *box)
{
    if (box->has_orders)
        return;
    box->has_orders = true;
    TAILQ_INSERT_TAIL(&pool->orders, box, orders);
}

void pool_remove_lease(struct pool *pool, struct pool_lease *lease)
{
    queue_leave(pool->queue, lease);
    pool_move_lease(pool, lease, LEASE_ENDED);
    pool_set_suspension(pool, lease, LEASE_HERE);
    for (size_t i = 0; i < lease->hold_count; i++)
        pool_give_up(pool, &lease->holds[i]);
    tdelete(lease, &pool->leases_by_id, pool_compare_leases);
    if (lease->key)
        tdelete(lease, &pool->leases_by_key, compare_keys);
    TAILQ_REMOVE(&pool->leases, lease, all);
    if (lease->is_displaced)
        TAILQ_REMOVE(&pool->displaced, lease, displaced);
    pool->lease_count--;
    lease_free(&lease);
}

void pool_note_freed(struct pool *pool, struct pool_gpu *gpu)
{
    if (pool->freed_count < POOL_FREED_MAX)
        pool->freed[pool->freed_count] = gpu;
    if (pool->freed_count <= POOL_FREED_MAX)
        pool->freed_count++;
}

static void pool_add_holder(const struct pool_hold *hold, struct pool_gpu *gpu)
{
    gpu->box->stale = true;
    gpu->holders++;
    gpu->mode = (uint8_t)hold->mode;
    hold->box->holders++;
    if (hold->mode == GPU_SHARED)
        gpu->used += hold->memory + hold->context;
    gpu->tenant = hold->tenant;
    gpu->computing += hold->compute;
}

static void remove_holder(const struct pool_hold *hold, struct pool_gpu *gpu)
{
    RGPU_ASSERT(gpu->holders && hold->box->holders && gpu->computing >= hold->compute);
    gpu->box->stale = true;
    gpu->holders--;
    hold->box->holders--;
    if (hold->mode == GPU_SHARED)
        gpu->used -= hold->memory + hold->context;
    gpu->computing -= hold->compute;
}

void pool_take(struct pool_hold *hold)
{
    if (hold->held)
        return;
    hold->held = true;
    pool_add_holder(hold, hold->gpu);
}

void pool_give_back(struct pool_hold *hold)
{
    if (!hold->held)
        return;
    pool_unreserve(hold);
    hold->held = false;
    remove_holder(hold, hold->gpu);
}

void pool_give_up(struct pool *pool, struct pool_hold *hold)
{
    if (hold_stands(hold))
        pool_note_freed(pool, hold->gpu);
    if (hold->target)
        pool_note_freed(pool, hold->target);
    pool_give_back(hold);
}

void pool_reserve(struct pool_hold *hold, struct pool_gpu *target)
{
    hold->target = target;
    pool_add_holder(hold, target);
}

void pool_unreserve(struct pool_hold *hold)
{
    if (hold->target)
        remove_holder(hold, hold->target);
    hold->target = NULL;
}

void pool_settle(struct pool_hold *hold)
{
    remove_holder(hold, hold->gpu);
    hold->gpu = hold->target;
    hold->target = NULL;
    hold->moved = true;
}

static bool gpu_in_service(const struct pool_gpu *gpu)
{
    return gpu->present && gpu->ready && !gpu->drained;
}

static uint64_t room_of_share(const struct pool_gpu *gpu)
{
    uint64_t room = gpu_free_bytes(gpu);
    uint64_t most = gpu->memory > gpu->reserved ? gpu->memory - gpu->reserved : 0;

    room = room < most ? room : most; // however much all together may be promised
    return room > gpu->context ? room - gpu->context : 0;
}

// Returns true if no request could want the one and not the other.
static bool are_alike(const struct pool_gpu *a, const struct pool_gpu *b)
{
    return a->model == b->model && a->memory == b->memory && a->capability == b->capability &&
           a->mode == b->mode && a->automatic == b->automatic && a->sharing == b->sharing &&
           a->parts == b->parts && gpu_free_bytes(a) == gpu_free_bytes(b) &&
           room_of_share(a) == room_of_share(b);
}

static void count_idle(struct idle_gpus *idle, struct pool_gpu *gpu)
{
    if (idle->count++ == 0)
        *idle = (struct idle_gpus){.count = 1,
                                   .sample = gpu,
                                   .model = gpu->model,
                                   .memory = gpu->memory,
                                   .capability = gpu->capability,
                                   .parts = gpu->parts,
                                   .free = gpu_free_bytes(gpu),
                                   .room = room_of_share(gpu)};
    else if (idle->sample && !are_alike(gpu, idle->sample))
        idle->sample = NULL;
}

static void pool_count_gpu(struct pool_box *box, uint32_t place)
{
    struct pool_gpu *gpu = box->gpus[place];
    uint64_t room = gpu_free_bytes(gpu);

    box->unheld += gpu->holders == 0;
    if (gpu->holders > 0 && gpu->mode == GPU_SHARED)
        box->in_shares |= 1ull << place;
    for (int mode = 0; mode < GPU_MODES; mode++)
        if (gpu->holders == 0 && gpu_takes_mode(gpu, (enum gpu_mode)mode))
            count_idle(&box->idle[mode], gpu);
    if (gpu_takes_mode(gpu, GPU_SHARED) && room > box->roomiest)
        box->roomiest = room;
}

static_assert(POOL_GPUS_PER_BOX <= 64, "a bit for each");

void box_count_free(struct pool_box *box)
{
    if (!box->stale)
        return;
    box->stale = false;
    box->roomiest = box->in_shares = 0;
    box->unheld = box->missing = 0;
    memset(box->idle, 0, sizeof(box->idle));
    for (uint32_t i = 0; i < box->gpu_count; i++) {
        box->missing += !box->gpus[i]->present;
        if (gpu_in_service(box->gpus[i]))
            pool_count_gpu(box, i);
    }
}

bool gpu_takes_tenant(const struct pool_gpu *gpu, const struct request *request)
{
    if (!gpu->holders)
        return true;
    if (gpu->computing + request->compute > 100)
        return false;
    switch ((enum gpu_sharing)gpu->sharing) {
    case GPU_MPS_LEASE: return false;
    case GPU_MPS_USER: return request->tenant && gpu->tenant == request->tenant;
    case GPU_BY_TIME:
    case GPU_MPS_ALL: break;
    }
    return true;
}

bool gpu_takes_mode(const struct pool_gpu *gpu, enum gpu_mode mode)
{
    return gpu->mode == mode || (gpu->automatic && gpu->holders == 0);
}

bool gpu_may_take_mode(const struct pool_gpu *gpu, enum gpu_mode mode)
{
    return gpu->automatic || gpu->mode == mode;
}

int gpu_parse_mode(const char *text, enum gpu_mode *mode, bool *automatic)
{
    int index;

    *automatic = text && !strcmp(text, GPU_AUTO);
    index = *automatic ? GPU_EXCLUSIVE : pool_parse_name(gpu_mode_names, text);
    if (index < 0)
        return -EINVAL;
    *mode = (enum gpu_mode)index;
    return 0;
}

bool box_may_write(struct pool_box *box)
{
    enum { AT_ONCE = 100, EVERY_SECONDS = 1 };
    double now = clock_boot_seconds(), earliest = now - AT_ONCE * EVERY_SECONDS;

    if (!box->written || box->written < earliest)
        box->written = earliest;
    if (box->written + EVERY_SECONDS > now)
        return false;
    box->written += EVERY_SECONDS;
    return true;
}

bool box_serves(const struct pool_box *box)
{
    return box->connected && !box->hung_up && box->settled && box->accepting;
}

bool box_usable(const struct pool_box *box)
{
    return box_serves(box) && !box->drained;
}

bool gpu_usable(const struct pool_gpu *gpu)
{
    return gpu_in_service(gpu) && box_usable(gpu->box);
}

bool gpu_is_instance(const struct pool_gpu *gpu)
{
    return !strncmp(gpu->uuid, "MIG-", 4);
}

uint64_t gpu_promised_bytes(const struct pool_gpu *gpu)
{
    return gpu->overcommit > 100 ? gpu->memory * gpu->overcommit / 100 : gpu->memory;
}

uint64_t gpu_free_bytes(const struct pool_gpu *gpu)
{
    uint64_t taken = gpu->reserved + gpu->used, promised = gpu_promised_bytes(gpu);

    return promised > taken ? promised - taken : 0;
}

bool lease_holds_on(const struct pool_lease *lease, const struct pool_box *box)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (hold_stands(&lease->holds[i]) && lease->holds[i].box == box)
            return true;
    return false;
}

bool lease_holds_gpu(const struct pool_lease *lease, const struct pool_gpu *gpu)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (hold_stands(&lease->holds[i]) &&
            (lease->holds[i].gpu == gpu || lease->holds[i].target == gpu))
            return true;
    return false;
}

bool lease_fits_gpu(const struct pool_lease *lease, const struct pool_hold *hold,
                    const struct pool_gpu *gpu)
{
    if (!gpu->present || !gpu->box->connected || gpu->box->hung_up)
        return false;
    if (hold->mode == GPU_EXCLUSIVE)
        return gpu->holders == 0 && gpu_takes_mode(gpu, GPU_EXCLUSIVE);
    return gpu_takes_mode(gpu, GPU_SHARED) && gpu_takes_tenant(gpu, &lease->request) &&
           gpu_free_bytes(gpu) >= hold->memory + hold->context;
}
