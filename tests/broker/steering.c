// SPDX-License-Identifier: BSD-3-Clause
// What an administrator's orders are refused for: each objection to a move, and reasons of drains.
#include <string.h>

#include "broker/leases/drain.h"
#include "broker/leases/moving.h"
#include "tests/broker/pool_sample.h"

static struct pool *pool;
static struct pool_box *box;
static struct pool_lease lease;
static struct pool_hold hold;

static const char *objection(const struct pool_gpu *to)
{
    static char text[300];
    const char *why = move_objection(&lease, &hold, to, text, sizeof(text));

    return why ? why : "none";
}

static void begins(const char *text, const char *prefix, const char *name)
{
    ok(!strncmp(text, prefix, strlen(prefix)), "%s: %s", name, text);
}

static void test_state(void)
{
    struct pool_gpu *to = box->gpus[1];

    is_str(objection(to), "none", "a granted lease can be moved to a free GPU");
    lease.state = LEASE_QUEUED;
    begins(objection(to), "it still waits", "queued");
    lease.state = LEASE_LOST;
    begins(objection(to), "its box is away", "lost");
    lease.state = LEASE_ENDING;
    begins(objection(to), "it ends", "ending");
    lease.state = LEASE_GRANTED;
    hold.target = to;
    begins(objection(to), "it is on its way", "a second move");
    hold.target = NULL;
    lease.suspension = LEASE_RETURNING;
    begins(objection(to), "it is to return", "returning");
    lease.suspension = LEASE_AWAY;
    begins(objection(to), "it is just being suspended", "not saved yet");
    pool_give_back(&hold);
    is_str(objection(to), "none", "a suspended lease can be moved");
    pool_take(&hold);
    lease.suspension = LEASE_HERE;
}

static void test_target(void)
{
    struct pool_box *other = sample_box(pool, "b", 1, "H200", 100 * GB, GPU_EXCLUSIVE);
    struct pool_hold second = {.gpu = box->gpus[2], .box = box, .mode = GPU_EXCLUSIVE};
    struct pool_hold both[2] = {hold, second};

    begins(objection(box->gpus[0]), "it is on that GPU already", "its own GPU");
    begins(objection(other->gpus[0]), "it is on box a and not on b", "another box");
    lease.holds = both;
    lease.hold_count = 2;
    both[1].held = true;
    begins(objection(box->gpus[2]), "it has that GPU already", "its other GPU");
    lease.holds = &hold;
    lease.hold_count = 1;
}

static void test_kind(void)
{
    struct pool_gpu *from = box->gpus[0], *to = box->gpus[1], *instance;
    struct pool_hold whole = hold;

    instance = pool_add_gpu(pool, "MIG-1");
    *instance = (struct pool_gpu){.uuid = "MIG-1"};
    instance->box = box;
    begins(objection(instance), "an instance of a divided GPU", "to an instance");
    hold.gpu = instance;
    begins(objection(to), "an instance of a divided GPU", "from an instance");
    hold = whole;
    to->sharing = GPU_MPS_USER;
    begins(objection(to), "one of the two GPUs is shared by MPS", "to MPS");
    to->sharing = GPU_BY_TIME;
    from->sharing = GPU_MPS_USER;
    begins(objection(to), "one of the two GPUs is shared by MPS", "from MPS");
    from->sharing = GPU_BY_TIME;
    to->overcommit = 101;
    begins(objection(to), "one of the two GPUs promises more", "to an overcommitted one");
    to->overcommit = 100;
    from->overcommit = 101;
    begins(objection(to), "one of the two GPUs promises more", "from an overcommitted one");
    from->overcommit = 100;
    to->capability = 80;
    begins(objection(to), "it is on a GPU of another kind", "another capability");
    to->capability = from->capability;
    to->model = pool_intern_model(pool, "H100");
    begins(objection(to), "it is on a GPU of another kind (H200) than that one (H100)", "a model");
    to->model = from->model;
    to->memory--;
    begins(objection(to), "the GPU is too small", "a byte less");
    to->memory++;
    is_str(objection(to), "none", "and no objection is left");
}

static void test_use(void)
{
    struct pool_gpu *to = box->gpus[1];
    struct pool_hold theirs = {.gpu = to, .box = box, .mode = GPU_EXCLUSIVE};

    to->present = false;
    begins(objection(to), "that GPU is away", "a missing GPU");
    to->present = true;
    box->connected = false;
    begins(objection(to), "that GPU is away", "an absent box");
    box->connected = box->hung_up = true;
    begins(objection(to), "that GPU is away", "a box whose connection is closed");
    box->hung_up = false;
    to->drained = true;
    begins(objection(to), "that GPU is drained", "a drained GPU");
    to->drained = to->ready = false;
    begins(objection(to), "its box has not measured", "a GPU that is not measured");
    to->ready = true;
    pool_take(&theirs);
    begins(objection(to), "another lease holds that GPU", "a taken GPU");
    pool_give_back(&theirs);
    to->mode = GPU_SHARED;
    begins(objection(to), "that GPU is shared, and the lease exclusive", "another mode");
    to->automatic = true;
    is_str(objection(to), "none", "the mode of an automatic GPU follows");
    to->automatic = false;
}

static void test_share(void)
{
    struct pool_gpu *from = box->gpus[2], *to = box->gpus[1];
    struct pool_hold theirs = {
        .gpu = to, .box = box, .mode = GPU_SHARED, .memory = 60 * GB, .context = GB};

    pool_give_back(&hold);
    from->mode = to->mode = GPU_SHARED;
    hold = (struct pool_hold){
        .gpu = from, .box = box, .mode = GPU_SHARED, .memory = 38 * GB, .context = GB};
    pool_take(&hold);
    pool_take(&theirs);
    is_str(objection(to), "none", "a share moves to the last free byte");
    to->reserved = 1;
    begins(objection(to), "that GPU has 39935 MiB free, and the share takes 39936", "a byte less");
    to->reserved = 0;
    pool_give_back(&theirs);
    pool_give_back(&hold);
}

static void test_reasons(void)
{
    char reason[DRAIN_REASON_MAX + 2];

    memset(reason, 'x', sizeof(reason));
    reason[DRAIN_REASON_MAX] = '\0';
    ok(drain_reason_is_good(reason), "a reason may have %d bytes", DRAIN_REASON_MAX);
    reason[DRAIN_REASON_MAX] = 'x';
    reason[DRAIN_REASON_MAX + 1] = '\0';
    ok(!drain_reason_is_good(reason), "and not one more");
    ok(drain_reason_is_good("works on the rack"), "words are a reason");
    ok(drain_reason_is_good(""), "so is nothing");
    ok(!drain_reason_is_good("a\033[2J"), "what steers a terminal is not");
}

int main(void)
{
    pool = pool_new();
    box = sample_box(pool, "a", 3, "H200", 100 * GB, GPU_EXCLUSIVE);
    strcpy(lease.id, "L1");
    lease.state = LEASE_GRANTED;
    hold = (struct pool_hold){.gpu = box->gpus[0], .box = box, .mode = GPU_EXCLUSIVE};
    lease.holds = &hold;
    lease.hold_count = 1;
    pool_take(&hold);
    test_state();
    test_target();
    test_kind();
    test_use();
    test_share();
    test_reasons();
    return done();
}
