// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/pool.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/oracle_queue.h"
#include "tests/simulation/simulated_box.h"

static struct host host = {.name = "operator", .up = true};
static struct link link = {.name = "operator", .least = MS / 10, .most = 20 * MS};
static struct caller caller = {
    .host = &host,
    .link = &link,
    .who = {.known = true, .admin = true, .local = true, .has_uid = true, .name = "admin uid=0"}};
static struct dice dice;
static bool finished;

static void on_forced(void *argument, int status, const json_t *answer)
{
    const struct server *server = broker_process();

    (void)answer;
    world_trace("the broker answers %d", status);
    // Leases that are adopted from their boxes may be on drained GPUs.
    if (status == 200 && server && !broker_restores)
        oracle_check_drained(server->broker->pool, argument);
    free(argument);
}

static void on_done(void *argument, int status, const json_t *answer)
{
    (void)argument;
    (void)answer;
    world_trace("the broker answers %d", status);
}

static void order(const char *method, const char *target, json_t *body)
{
    world_trace("%s %s", method, target);
    network_ask(&caller, method, target, body, 45 * SECOND, on_done, NULL);
    json_decref(body);
}

static struct simulated_box *some_box(void)
{
    return &boxes[dice_below(&dice, box_count)];
}

static void name_gpu(char *text, size_t size)
{
    const struct simulated_box *box = some_box();

    snprintf(text, size, "%s:%u", box->host.name, (unsigned)dice_below(&dice, box->gpu_count));
}

static void drain(void)
{
    char target[96], name[48];
    bool whole = dice_chance(&dice, 500), drained = dice_chance(&dice, 400), forced;
    json_t *body = json_object();

    snprintf(name, sizeof(name), "%s", some_box()->host.name);
    if (!whole)
        name_gpu(name, sizeof(name));
    forced = drained && dice_chance(&dice, 300);
    if (forced)
        json_object_set_new(body, "force", json_true());
    else if (drained && dice_chance(&dice, 300))
        json_object_set_new(body, "move", json_true());
    if (drained && dice_chance(&dice, 500))
        json_object_set_new(body, "reason", json_string("works on the rack"));
    snprintf(target, sizeof(target), "/v1/%s/%s/%s", whole ? "boxes" : "gpus", name,
             drained ? "drain" : "undrain");
    if (!forced) {
        order("POST", target, body);
        return;
    }
    world_trace("POST %s by force", target);
    network_ask(&caller, "POST", target, body, 45 * SECOND, on_forced, strdup(name));
    json_decref(body);
}

static void set_mode(void)
{
    static const char *const modes[] = {"exclusive", "shared", "auto"};
    char target[96], name[48];

    name_gpu(name, sizeof(name));
    snprintf(target, sizeof(target), "/v1/gpus/%s/mode", name);
    order("POST", target, json_pack("{s:s}", "mode", modes[dice_below(&dice, 3)]));
}

static const struct pool_lease *some_lease(void)
{
    const struct server *server = broker_process();
    const struct pool_lease *lease = server ? TAILQ_FIRST(&server->broker->pool->leases) : NULL;

    for (uint64_t i = dice_below(&dice, 30); lease && TAILQ_NEXT(lease, all) && i > 0; i--)
        lease = TAILQ_NEXT(lease, all);
    return lease;
}

static void resume(void *target)
{
    order("POST", target, json_object());
    free(target);
}

// A suspended lease is resumed after a while, when others may have its GPUs.
static void steer_lease(void)
{
    const struct pool_lease *lease = some_lease();
    bool suspends = dice_chance(&dice, 800);
    char target[200];

    if (!lease)
        return;
    snprintf(target, sizeof(target), "/v1/leases/%s/%s", lease->id,
             suspends ? "suspend" : "revoke");
    order("POST", target, json_object());
    if (!suspends)
        return;
    snprintf(target, sizeof(target), "/v1/leases/%s/resume", lease->id);
    world_after(&host, dice_between(&dice, SECOND, 40 * SECOND), resume, strdup(target));
}

// To another GPU of the same box.
static void move(void)
{
    const struct pool_lease *lease = some_lease();
    const struct pool_hold *hold;
    char target[200], to[POOL_NAME_MAX + 16];

    if (!lease || !lease->hold_count)
        return;
    hold = &lease->holds[dice_below(&dice, lease->hold_count)];
    snprintf(target, sizeof(target), "/v1/leases/%s/move", lease->id);
    snprintf(to, sizeof(to), "%s:%u", hold->box->name,
             (unsigned)dice_below(&dice, hold->box->gpu_count));
    order("POST", target, json_pack("{s:s, s:s}", "to", to, "from", hold->gpu->uuid));
}

static void declare_gone(void)
{
    char target[96];

    for (unsigned i = 0; i < box_count; i++)
        if (!boxes[i].host.up && dice_chance(&dice, 500)) {
            snprintf(target, sizeof(target), "/v1/boxes/%s/%s", boxes[i].host.name,
                     dice_chance(&dice, 800) ? "gone" : "");
            if (target[strlen(target) - 1] == '/') {
                target[strlen(target) - 1] = '\0';
                order("DELETE", target, NULL);
            } else {
                order("POST", target, json_object());
            }
            return;
        }
}

static void act(void *unused)
{
    (void)unused;
    if (finished)
        return;
    switch (dice_below(&dice, 12)) {
    case 0:
    case 1:
    case 2:
    case 3: drain(); break;
    case 4: set_mode(); break;
    case 5:
    case 6:
    case 7: steer_lease(); break;
    case 8:
    case 9: move(); break;
    default: declare_gone(); break;
    }
    world_after(&host, dice_between(&dice, SECOND, 20 * SECOND), act, NULL);
}

void operator_set_up(uint64_t seed)
{
    dice = dice_of(seed, "operator");
    link.dice = dice_of(dice_roll(&dice), "link");
    if (dice_chance(&dice, 700))
        world_after(&host, 10 * SECOND, act, NULL);
}

void operator_finish(void)
{
    finished = true;
}

void operator_undrain_all(void)
{
    char target[96];

    for (unsigned i = 0; i < box_count; i++) {
        snprintf(target, sizeof(target), "/v1/boxes/box%02u/undrain", i % 100);
        order("POST", target, json_object());
        for (unsigned j = 0; j < boxes[i].gpu_count; j++) {
            snprintf(target, sizeof(target), "/v1/gpus/box%02u:%u/undrain", i % 100, j);
            order("POST", target, json_object());
        }
    }
}

void operator_release_left(void)
{
    const struct server *server = broker_process();
    const struct pool_lease *lease;
    char target[200];

    if (!server)
        return;
    TAILQ_FOREACH(lease, &server->broker->pool->leases, all)
        if (lease->state != LEASE_ENDING) {
            snprintf(target, sizeof(target), "/v1/leases/%s", lease->id);
            order("DELETE", target, NULL);
        }
}
