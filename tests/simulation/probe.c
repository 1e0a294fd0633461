// SPDX-License-Identifier: BSD-3-Clause
// A last user, who takes each GPU of an idle pool once and opens a session on it: what is free can
// be used.
#include "tests/simulation/probe.h"

#include <stdio.h>
#include <string.h>

#include "tests/simulation/broker_process.h"
#include "tests/simulation/oracle.h"

static struct host host = {.name = "probe", .up = true};
static struct link link = {.name = "probe", .least = MS / 10, .most = 5 * MS};
static struct caller caller = {.host = &host,
                               .link = &link,
                               .who = {.known = true,
                                       .local = true,
                                       .has_uid = true,
                                       .uid = 999,
                                       .scheduler = true,
                                       .name = "scheduler uid=999"}};
static unsigned granted, wanted;

static void on_released(void *argument, int status, const json_t *answer)
{
    (void)argument;
    (void)answer;
    if (status != 200)
        world_broken("a lease of an idle pool cannot be released: %d", status);
}

static void use(const char *text)
{
    struct ticket_bundle bundle;
    struct simulated_box *box;
    struct session_end end;
    char name[32];

    if (ticket_bundle_parse(text, strlen(text), &bundle) || bundle.count != 1)
        world_broken("the lease of one GPU has no ticket of one box");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(bundle.entries[0].box, " "),
             bundle.entries[0].box);
    box = box_with_name(name);
    world_host = &box->host;
    end = box_open_session(box, bundle.entries[0].token, bundle.entries[0].public_size);
    if (!end.number)
        world_broken("box %s refuses a session of an idle pool: %s", name, end.why);
    world_host = &host;
    ticket_bundle_free(&bundle);
}

static void on_granted(void *argument, int status, const json_t *answer)
{
    const json_t *lease = json_object_get(answer, "lease");
    const char *ticket = json_string_value(json_object_get(answer, "ticket"));
    char target[96];

    (void)argument;
    if (status != 200 || !ticket) {
        const json_t *error = json_object_get(answer, "error");
        world_broken("a free GPU is not granted in an idle pool: %d %s", status,
                     json_string_value(json_object_get(error, "message")));
    }
    granted++;
    use(ticket);
    snprintf(target, sizeof(target), "/v1/leases/%s",
             json_string_value(json_object_get(lease, "id")));
    network_ask(&caller, "DELETE", target, NULL, 45 * SECOND, on_released, NULL);
}

static void ask_for(const struct pool_gpu *gpu)
{
    bool shared = gpu->mode == GPU_SHARED && !gpu->automatic;
    json_t *part = json_pack("{s:i, s:s}", "count", 1, "mode", shared ? "shared" : "exclusive");
    json_t *body;

    if (shared)
        json_object_set_new(part, "memory", json_integer((json_int_t)1 << 30));
    body = json_pack("{s:{s:[o], s:s, s:i}, s:i, s:b}", "request", "gpus", part, "box",
                     gpu->box->name, "index", (int)gpu->index, "owner", 999, "ticket", 1);
    network_ask(&caller, "POST", "/v1/leases", body, 45 * SECOND, on_granted, NULL);
    json_decref(body);
    wanted++;
}

void probe_begin(void)
{
    const struct pool *pool = broker_process()->broker->pool;

    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++)
            ask_for(pool->boxes[i]->gpus[j]);
}

void probe_check(void)
{
    if (granted != wanted)
        world_broken("%u of %u GPUs of an idle pool were granted", granted, wanted);
}
