// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/readers.h"

#include <stdio.h>
#include <string.h>

#include "tests/simulation/broker_process.h"
#include "tests/simulation/exhaustive.h"
#include "tests/simulation/simulated_box.h"
#include "tests/simulation/user_requests.h"

static struct host host = {.name = "reader", .up = true};
static struct link link = {.name = "reader", .least = MS / 10, .most = 20 * MS};
static struct caller caller = {
    .host = &host,
    .link = &link,
    .who = {.known = true, .admin = true, .local = true, .has_uid = true, .name = "admin uid=0"}};
static struct dice dice;
static bool finished;

static void readers_ask(void *unused);

// A reader is refused only if the disk or the memory fails.
static void on_read(void *argument, int status, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");

    if (status && status != 200 && status != 404 && status != 429 && status < 500)
        world_broken("%s is answered %d %s", (const char *)argument, status,
                     json_string_value(json_object_get(error, "message")));
    if (!finished)
        world_after(&host, dice_between(&dice, SECOND, 20 * SECOND), readers_ask, NULL);
}

static json_t *capacity(void)
{
    json_t *body = json_pack("{s:s, s:[]}", "key_prefix", "user00", "requests");

    for (uint64_t i = dice_below(&dice, 4); i > 0; i--) {
        json_t *wanted = user_request(&dice, "none", -1);
        json_array_append(json_object_get(body, "requests"), json_object_get(wanted, "request"));
        json_decref(wanted);
    }
    return body;
}

// A scheduler's jobs that hold GPUs, its requests that wait and are next, and what it may end.
static void plan_ahead(json_t *body)
{
    json_t *holders = json_array(), *keys = json_array();
    json_t *wanted = user_request(&dice, "none", -1);
    char name[32];

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "user%03d", i);
        json_array_append_new(holders, json_string(name));
        snprintf(name, sizeof(name), "user%03d/%u", i, (unsigned)dice_between(&dice, 1, 20));
        json_array_append_new(keys, json_string(name));
    }
    json_object_set_new(body, "holders", holders);
    json_object_set_new(body, "lenders", json_pack("[i]", (int)dice_below(&dice, 8)));
    json_object_set_new(body, "waiting", json_pack("[i, i]", 0, 1));
    json_object_set_new(body, "next", json_pack("[i]", (int)dice_below(&dice, 2)));
    json_object_set_new(body, "preempt",
                        json_pack("{s:O, s:o}", "request", json_object_get(wanted, "request"),
                                  "keys", keys));
    json_decref(wanted);
}

static void ask_scheduler(void)
{
    bool capable = dice_chance(&dice, 700);
    json_t *body = capable ? capacity()
                           : json_pack("{s:s, s:s}", "key_prefix", "user00", "scheduler", "host");
    static char capacity_target[] = "/v1/capacity", names_target[] = "/v1/schedulers";
    char *target = capable ? capacity_target : names_target;

    if (capable && dice_chance(&dice, 500))
        plan_ahead(body);
    network_ask(&caller, "POST", target, body, 45 * SECOND, on_read, target);
    json_decref(body);
}

static void readers_ask(void *unused)
{
    static const char *const targets[] = {"/v1/boxes",
                                          "/v1/gpus",
                                          "/v1/leases",
                                          "/v1/leases?state=ended",
                                          "/v1/leases?key_prefix=user00",
                                          "/v1/boxes/box00",
                                          "/v1/gpus/box01:0",
                                          "/v1/boxes/box00/key",
                                          "/v1/events?after=5",
                                          "/v1/events?box=box00",
                                          "/v1/overview",
                                          "/v1/overview?map=1&wait=5",
                                          "/v1/usage",
                                          "/v1/usage?by=lease",
                                          "/v1/whoami",
                                          "/healthz",
                                          "/metrics"};
    const char *target = targets[dice_below(&dice, sizeof(targets) / sizeof(targets[0]))];

    (void)unused;
    if (dice_chance(&dice, 200))
        ask_scheduler();
    else
        network_ask(&caller, "GET", target, NULL, 45 * SECOND, on_read, (char *)target);
}

void readers_set_up(uint64_t seed)
{
    dice = dice_of(seed, "readers");
    link.dice = dice_of(dice_roll(&dice), "link");
    if (dice_chance(&dice, 500))
        world_after(&host, 5 * SECOND, readers_ask, NULL);
}

void readers_finish(void)
{
    finished = true;
}
