// SPDX-License-Identifier: BSD-3-Clause
// Commands of administrators that change the pool.
#include <stdio.h>
#include <string.h>

#include "admin-cli/output/conversation.h"

int pool_find_target(const struct conversation *pool, const char *name, char *path, size_t size,
                     bool *is_gpu)
{
    *is_gpu = strchr(name, ':') != NULL || !strncmp(name, "GPU-", 4) || !strncmp(name, "MIG-", 4);
    if (strpbrk(name, "/?#% ") || strlen(name) > 120) {
        fprintf(stderr, "rgpuctl %s: %s is no name of a box or GPU\n", pool->command->name, name);
        return EXIT_USAGE;
    }
    snprintf(path, size, "/v1/%s/%s", *is_gpu ? "gpus" : "boxes", name);
    return 0;
}

static int post_and_hear(struct conversation *pool, const char *path, const char *verb,
                         json_t *body, json_t **answer)
{
    char full[400];
    int status;

    snprintf(full, sizeof(full), "%s/%s", path, verb);
    status = pool_call(pool, "POST", full, body, answer);
    json_decref(body);
    return status;
}

static int pool_steer_post(struct conversation *pool, const char *path, const char *verb,
                           json_t *body)
{
    return post_and_hear(pool, path, verb, body, NULL);
}

static json_t *drain_order(const struct conversation *pool, bool drain)
{
    const char *reason = drain ? pool_option(pool, "reason") : NULL;
    json_t *order = json_pack("{s:b, s:b}", "force", drain && pool_option(pool, "force") != NULL,
                              "move", drain && pool_option(pool, "move") != NULL);

    if (reason)
        json_object_set_new(order, "reason", json_string(reason));
    return order;
}

// Returns the number of leases that hold the box or GPU; negative: the exit status is -1 - it.
static int64_t count_holds(struct conversation *pool, const char *path, bool is_gpu)
{
    json_t *answer;
    int64_t holds;
    int status = pool_call(pool, "GET", path, NULL, &answer);

    if (status)
        return -1 - status;
    holds = is_gpu ? json_integer_value(json_object_get(json_object_get(answer, "gpu"), "leases"))
                   : json_integer_value(json_object_get(json_object_get(answer, "box"), "holds"));
    json_decref(answer);
    return holds;
}

static int await_idle(struct conversation *pool, const char *path, bool is_gpu)
{
    json_int_t last = -1;
    // The place in the event log comes first: what happens after the count must wake us.
    int status = pool_await_event(pool, 0, &last);

    while (!status) {
        int64_t holds = count_holds(pool, path, is_gpu);
        if (holds <= 0)
            return holds ? (int)(-1 - holds) : 0;
        status = pool_await_event(pool, 30, &last);
    }
    return status;
}

// Waits for the leases that move to other GPUs, and prints the leases that stay. A lease that stays
// is no error: the drain waits for its end, as without --move.
static int await_moves(struct conversation *pool, const json_t *answer)
{
    const json_t *row;
    size_t i;
    int status = 0;

    json_array_foreach(json_object_get(answer, "moves"), i, row) {
        const char *lease = json_string_value(json_object_get(row, "lease"));
        const char *reason = json_string_value(json_object_get(row, "reason"));
        if (reason)
            (void)move_explain(pool->command, lease, reason);
        else
            status = pool_await_move(pool, lease);
        if (status && status != EXIT_ANSWER_NO)
            return status;
    }
    return 0;
}

static int order_drain(struct conversation *pool, const char *path, bool drain)
{
    json_t *answer = NULL;
    int status = post_and_hear(pool, path, pool->command->name, drain_order(pool, drain), &answer);

    if (!status)
        status = await_moves(pool, answer);
    json_decref(answer);
    return status;
}

int pool_drain(const struct command *command, int argc, char **argv)
{
    bool drain = !strcmp(command->name, "drain"), is_gpu = false;
    struct conversation pool;
    char path[256];
    int status = pool_open(&pool, command, argc, argv, 1, 1);

    if (status >= 0)
        return status;
    status = pool_find_target(&pool, pool.line.argv[0], path, sizeof(path), &is_gpu);
    if (!status)
        status = order_drain(&pool, path, drain);
    if (!status && drain && pool_option(&pool, "wait"))
        status = await_idle(&pool, path, is_gpu);
    pool_close(&pool);
    return status;
}

// ---- mode ----

static int pool_steer_set_mode(struct conversation *pool, const char *path, const char *mode)
{
    return pool_steer_post(pool, path, "mode", json_pack("{s:s}", "mode", mode));
}

static bool is_drained(const json_t *answer)
{
    return json_is_true(json_object_get(json_object_get(answer, "gpu"), "drained"));
}

// Drains the GPU for the change, and puts it back into service if it was before.
static int set_mode_when_idle(struct conversation *pool, const char *path, const char *mode)
{
    char reason[64];
    json_t *before;
    bool was_drained;
    int after, status = pool_call(pool, "GET", path, NULL, &before);

    if (status)
        return status;
    was_drained = is_drained(before);
    json_decref(before);
    snprintf(reason, sizeof(reason), "waits to become %s", mode);
    status = pool_steer_post(pool, path, "drain",
                             was_drained ? json_object() : json_pack("{s:s}", "reason", reason));
    if (!status)
        status = await_idle(pool, path, true);
    if (!status)
        status = pool_steer_set_mode(pool, path, mode);
    after = was_drained ? 0 : pool_steer_post(pool, path, "undrain", json_object());
    return status ? status : after;
}

static int run_mode(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    char path[256];
    const char *mode;
    bool is_gpu;
    int status = pool_open(&pool, command, argc, argv, 2, 2);

    if (status >= 0)
        return status;
    mode = pool.line.argv[1];
    status = pool_find_target(&pool, pool.line.argv[0], path, sizeof(path), &is_gpu);
    if (!status && (!is_gpu || (strcmp(mode, "exclusive") && strcmp(mode, "shared") &&
                                strcmp(mode, "auto")))) {
        fprintf(stderr, "rgpuctl mode: give a GPU (UUID or BOX:INDEX), and exclusive, shared or "
                        "auto\n");
        status = EXIT_USAGE;
    }
    if (!status)
        status = pool_option(&pool, "wait") ? set_mode_when_idle(&pool, path, mode)
                                            : pool_steer_set_mode(&pool, path, mode);
    pool_close(&pool);
    return status;
}

// ---- leases and boxes ----

static int run_revoke(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    char path[256];
    int status = pool_open(&pool, command, argc, argv, 1, 100);

    if (status >= 0)
        return status;
    for (status = 0; !status && pool.line.argc > 0; pool.line.argc--, pool.line.argv++) {
        snprintf(path, sizeof(path), "/v1/leases/%.120s", pool.line.argv[0]);
        status = pool_steer_post(&pool, path, "revoke", NULL);
    }
    pool_close(&pool);
    return status;
}

static int run_gone(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    char path[256];
    bool is_gpu;
    int status = pool_open(&pool, command, argc, argv, 1, 1);

    if (status >= 0)
        return status;
    status = pool_find_target(&pool, pool.line.argv[0], path, sizeof(path), &is_gpu);
    if (!status)
        status = pool_steer_post(&pool, path, "gone", json_object());
    if (!status && pool_option(&pool, "remove"))
        status = pool_call(&pool, "DELETE", path, NULL, NULL);
    pool_close(&pool);
    return status;
}

static int run_box_key(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    char path[256], full[300];
    json_t *answer;
    bool is_gpu;
    int status = pool_open(&pool, command, argc, argv, 1, 1);

    if (status >= 0)
        return status;
    status = pool_find_target(&pool, pool.line.argv[0], path, sizeof(path), &is_gpu);
    snprintf(full, sizeof(full), "%s/key", path);
    if (!status)
        status = pool_call(&pool, "GET", full, NULL, &answer);
    if (!status) {
        fputs(json_string_value(json_object_get(answer, "keys")), stdout);
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

static const struct command_option plain_options[] = {
    POOL_OPTIONS,
    {0},
};

static const struct command_option mode_options[] = {
    POOL_OPTIONS,
    {"wait", NULL, "drain the GPU first, and wait until nobody holds it", 0},
    TIMEOUT_OPTION("waiting after"),
    {0},
};

static const struct command_option gone_options[] = {
    POOL_OPTIONS,
    {"remove", NULL, "and forget the box", 0},
    {0},
};

const struct command pool_steer_commands[] = {
    {"mode", "GPU exclusive|shared|auto",
     "Sets whether a GPU is given whole, in shares, or as asked.", mode_options, run_mode},
    {"revoke", "LEASE...", "Ends leases, and with them their sessions.", plain_options, run_revoke},
    {"gone", "BOX", "Says that nothing runs on an absent box any more, and frees its leases.",
     gone_options, run_gone},
    {"box-key", "BOX", "Prints the keys that rgpud of this box verifies tickets with.",
     plain_options, run_box_key},
    {0},
};
