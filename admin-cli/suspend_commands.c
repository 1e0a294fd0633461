// SPDX-License-Identifier: BSD-3-Clause
// Commands that suspend and resume a lease. They poll the broker until the change is complete. A
// resume may take long, because other leases must free the GPUs first.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "admin-cli/box_commands.h"
#include "admin-cli/output/conversation.h"

enum { WORD_MOST = 16, NAME_MOST = 160, LOOK_MS = 20 };

static int suspend_commands_explain(const struct command *command, const char *name,
                                    const json_t *row)
{
    const char *reason = table_text(row, "reason");

    fprintf(stderr, "rgpuctl %s: %s is %s%s%s\n", command->name, name, table_text(row, "state"),
            *reason ? ": " : "", reason);
    return EXIT_ANSWER_NO;
}

// Returns 0 or the exit status once the order has its final result; negative before.
static int suspend_commands_settled(const struct command *command, const char *name,
                                    const json_t *row)
{
    bool resumes = !strcmp(command->name, "resume");
    const char *state = table_text(row, "state");

    if (!strcmp(state, "running"))
        return resumes ? 0 : suspend_commands_explain(command, name, row);
    // The box finds out in time; that may be long.
    if (!strcmp(state, "unclear"))
        return suspend_commands_explain(command, name, row);
    if (!strcmp(state, "suspended") && !json_is_true(json_object_get(row, "returns")))
        return resumes ? suspend_commands_explain(command, name, row) : 0;
    return -1;
}

// ---- the box of this machine ----

static int suspend_commands_ask_box(const char *path, const char *verb, const char *name,
                                    json_t **row)
{
    char question[WORD_MOST + NAME_MOST];

    snprintf(question, sizeof(question), "%s %s", verb, name);
    return box_row(path, question, row);
}

static int suspend_commands_order_box(const struct command *command,
                                      const struct command_line *line)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    const char *path = command_value(command, line, "socket"), *name = line->argv[0];
    bool waits = !command_value(command, line, "no-wait");
    json_t *row = NULL;
    double until;
    int status = pool_read_timeout(command, line, &until);

    if (!status)
        status = suspend_commands_ask_box(path, command->name, name, &row);
    while (waits && !status && (status = suspend_commands_settled(command, name, row)) < 0) {
        json_decref(row);
        row = NULL;
        nanosleep(&look, NULL);
        status = pool_is_late(command, line, until)
                     ? EXIT_ANSWER_NO
                     : suspend_commands_ask_box(path, "suspension", name, &row);
    }
    if (status == EXIT_UNREACHABLE)
        fprintf(stderr, "rgpuctl %s: no answer from rgpud at %s\n", command->name, path);
    json_decref(row);
    return status;
}

// ---- the pool ----

static bool any_held(const json_t *lease)
{
    json_t *gpu;
    size_t i;

    json_array_foreach(json_object_get(lease, "gpus"), i, gpu)
        if (json_is_true(json_object_get(gpu, "held")))
            return true;
    return false;
}

// As above, of a lease as the broker shows it.
static int lease_settled(const struct conversation *pool, const json_t *lease)
{
    bool resumes = !strcmp(pool->command->name, "resume");
    const char *suspension = table_text(lease, "suspension"),
               *why = table_text(lease, "not_suspended");

    if (!*suspension && !resumes) {
        fprintf(stderr, "rgpuctl suspend: %s is not suspended%s%s\n", table_text(lease, "id"),
                *why ? ": " : "", why);
        return EXIT_ANSWER_NO;
    }
    if (resumes)
        return *suspension ? -1 : 0;
    return !strcmp(suspension, "suspended") && !any_held(lease) ? 0 : -1;
}

static int await_lease(struct conversation *pool, const char *path)
{
    json_int_t last = -1;
    // The place in the event log comes first: what happens after the look must wake us.
    int status = pool_await_event(pool, 0, &last);

    while (!status) {
        json_t *answer = NULL;
        status = pool_call(pool, "GET", path, NULL, &answer);
        if (status)
            return status;
        status = lease_settled(pool, json_object_get(answer, "lease"));
        json_decref(answer);
        if (status >= 0)
            return status;
        status = pool_await_event(pool, 30, &last);
    }
    return status;
}

static int suspend_commands_order_pool(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    char path[160], order[200];
    int status = pool_open(&pool, command, argc, argv, 1, 1);

    if (status >= 0)
        return status;
    snprintf(path, sizeof(path), "/v1/leases/%.120s", pool.line.argv[0]);
    snprintf(order, sizeof(order), "%s/%s", path, command->name);
    status = pool_call(&pool, "POST", order, NULL, NULL);
    if (!status && !pool_option(&pool, "no-wait"))
        status = await_lease(&pool, path);
    pool_close(&pool);
    return status;
}

static int run_suspension(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    int status = command_parse(command, argc, argv, &line);

    if (status >= 0)
        return status;
    if (line.argc != 1 || strlen(line.argv[0]) > NAME_MOST || strpbrk(line.argv[0], " \n")) {
        fprintf(stderr, "rgpuctl %s: name one lease\n", command->name);
        return EXIT_USAGE;
    }
    return command_value(command, &line, "socket")
               ? suspend_commands_order_box(command, &line)
               : suspend_commands_order_pool(command, argc, argv);
}

static const struct command_option options[] = {
    POOL_OPTIONS,
    {"socket", "PATH", "of the box of this machine alone: a lease, or a session that has none", 0},
    {"no-wait", NULL, "return as soon as it is ordered", 0},
    TIMEOUT_OPTION("waiting after"),
    {0},
};

const struct command suspend_commands[] = {
    {"suspend", "LEASE",
     "Takes the sessions of a lease off the GPUs; their programs wait, connected.", options,
     run_suspension},
    {"resume", "LEASE", "Brings them back to the GPUs, as soon as there is room.", options,
     run_suspension},
    {0},
};
