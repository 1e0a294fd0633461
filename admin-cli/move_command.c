// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl move: moves a lease to another GPU of its box and waits for the result.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "admin-cli/box_commands.h"
#include "admin-cli/output/conversation.h"

enum { NAME_MOST = 120, QUESTION_ROOM = 400, LOOK_MS = 100 };

// ---- the box of this machine ----

static bool is_on_its_way(const json_t *row)
{
    return json_is_true(json_object_get(row, "moving")) &&
           !json_is_true(json_object_get(row, "suspended"));
}

static int move_command_order_box(const struct command *command, const struct command_line *line)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    const char *path = command_value(command, line, "socket"), *name = line->argv[0];
    const char *from = command_value(command, line, "from");
    char question[QUESTION_ROOM];
    json_t *row = NULL;
    double until;
    int status = pool_read_timeout(command, line, &until);

    snprintf(question, sizeof(question), "move %s %s %s", name, command_value(command, line, "to"),
             from ? from : "");
    if (!status)
        status = box_row(path, question, &row);
    snprintf(question, sizeof(question), "moving %s", name);
    while (!command_value(command, line, "no-wait") && !status && is_on_its_way(row)) {
        json_decref(row);
        row = NULL;
        nanosleep(&look, NULL);
        status = pool_is_late(command, line, until) ? EXIT_ANSWER_NO
                                                    : box_row(path, question, &row);
    }
    if (status == EXIT_UNREACHABLE)
        fprintf(stderr, "rgpuctl move: no answer from rgpud at %s\n", path);
    if (!status && *table_text(row, "reason"))
        status = move_explain(command, name, table_text(row, "reason"));
    json_decref(row);
    return status;
}

// ---- the pool ----

static int move_command_order_pool(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    char order[NAME_MOST + 32];
    int status = pool_open(&pool, command, argc, argv, 1, 1);

    if (status >= 0)
        return status;
    const char *from = pool_option(&pool, "from");
    json_t *body = json_pack("{s:s}", "to", pool_option(&pool, "to"));
    if (from)
        json_object_set_new(body, "from", json_string(from));
    snprintf(order, sizeof(order), "/v1/leases/%.120s/move", pool.line.argv[0]);
    status = pool_call(&pool, "POST", order, body, NULL);
    json_decref(body);
    if (!status && !pool_option(&pool, "no-wait"))
        status = pool_await_move(&pool, pool.line.argv[0]);
    pool_close(&pool);
    return status;
}

static bool move_command_is_name(const char *text)
{
    return *text && strlen(text) <= NAME_MOST && !strpbrk(text, "/?#% \n");
}

static int run_move(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    int status = command_parse(command, argc, argv, &line);

    if (status >= 0)
        return status;
    const char *to = command_value(command, &line, "to"),
               *from = command_value(command, &line, "from");
    if (line.argc != 1 || !move_command_is_name(line.argv[0]) || !to || !move_command_is_name(to) ||
        (from && !move_command_is_name(from))) {
        fprintf(stderr, "rgpuctl move: name one lease, and by --to a GPU (UUID or BOX:INDEX)\n");
        return EXIT_USAGE;
    }
    return command_value(command, &line, "socket") ? move_command_order_box(command, &line)
                                                   : move_command_order_pool(command, argc, argv);
}

static const struct command_option options[] = {
    POOL_OPTIONS,
    {"to", "GPU", "where it is to go: a UUID or BOX:INDEX", 0},
    {"from", "GPU", "which of its GPUs is meant, where it has several", 0},
    {"socket", "PATH",
     "of the box of this machine alone, without a broker; a session's number names its lease, too",
     0},
    {"no-wait", NULL, "return as soon as it is ordered", 0},
    TIMEOUT_OPTION("waiting after"),
    {0},
};

const struct command move_commands[] = {
    {"move", "LEASE",
     "Has the sessions of a lease go to another GPU of their box; their programs wait meanwhile.",
     options, run_move},
    {0},
};
