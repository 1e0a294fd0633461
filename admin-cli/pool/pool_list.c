// SPDX-License-Identifier: BSD-3-Clause
// Commands that list the pool.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin-cli/output/conversation.h"
#include "admin-cli/pool/pool_list.h"
#include "admin-cli/output/table_wish.h"
#include "common/base/scope.h"

static const struct table_column box_columns[] = {
    {"BOX", "name", TABLE_TEXT, 9},
    {"STATE", "state", TABLE_TEXT, 8},
    {"GPUS", "gpus", TABLE_TEXT, 5},
    {"USED", "gpus_used", TABLE_TEXT, 6},
    {"LEASES", "holds", TABLE_TEXT, 4},
    {"ADDRESSES", "addresses", TABLE_TEXT, 3},
    {"LOCALITY", "locality", TABLE_TEXT, 2},
    {"TRANSPORTS", "transports", TABLE_TEXT, 2},
    {"VERSION", "version", TABLE_TEXT, 1},
    {"REASON", "why", TABLE_SENTENCE, 7},
    {0},
};

static const struct table_column gpu_columns[] = {
    {"BOX", "box", TABLE_TEXT, 9},
    {"GPU", "index", TABLE_TEXT, 9},
    {"MODEL", "model", TABLE_TEXT, 5},
    {"STATE", "state", TABLE_TEXT, 8},
    {"MODE", "mode", TABLE_TEXT, 4},
    {"MEMORY", "memory", TABLE_BYTES, 3},
    {"FREE", "free", TABLE_BYTES, 6},
    {"LEASES", "leases", TABLE_TEXT, 4},
    {"UTIL%", "utilization", TABLE_NUMBER, 6},
    {"DRIVER", "driver_bytes", TABLE_BYTES, 3},
    {"PROCS", "processes", TABLE_NUMBER, 2},
    {"TEMP", "temperature", TABLE_NUMBER, 2},
    {"WATTS", "power", TABLE_DECIMAL, 2},
    {"HEALTH", "health", TABLE_TEXT, 6},
    {"UUID", "uuid", TABLE_TEXT, 1},
    {"AUTO", "auto", TABLE_TEXT, 0},
    {"REASON", "why", TABLE_SENTENCE, 7},
    {0},
};

#define LEASE_COLUMNS \
    {"LEASE", "id", TABLE_TEXT, 9}, {"STATE", "state", TABLE_TEXT, 8}, \
        {"OWNER", "user", TABLE_TEXT, 7}, {"JOB", "job", TABLE_TEXT, 4}, \
        {"GPUS", "where", TABLE_SENTENCE, 5}, {"AGE", "age", TABLE_SECONDS, 3}, \
        {"REASON", "reason", TABLE_SENTENCE, 6}, \
    { \
        "SUSPENSION", "suspension", TABLE_TEXT, 7 \
    }

static const struct table_column lease_columns[] = {LEASE_COLUMNS, {0}};
static const struct table_column top_lease_columns[] = {LEASE_COLUMNS,
                                                        {"NET-IN", "bytes_in", TABLE_BYTES, 2},
                                                        {"NET-OUT", "bytes_out", TABLE_BYTES, 2},
                                                        {0}};

static const struct table_column session_columns[] = {
    {"BOX", "box", TABLE_TEXT, 9},
    {"SESSION", "session", TABLE_TEXT, 1},
    {"LEASE", "lease", TABLE_TEXT, 8},
    {"OWNER", "user", TABLE_TEXT, 7},
    {"CLIENT", "client", TABLE_TEXT, 3},
    {"PEER", "peer", TABLE_TEXT, 1},
    {"TRANSPORT", "transport", TABLE_TEXT, 5},
    {"PROTECTION", "protection", TABLE_TEXT, 0},
    {"AGE", "age_seconds", TABLE_SECONDS, 4},
    {"MEMORY", "memory", TABLE_BYTES, 6},
    {"DRIVER", "driver_bytes", TABLE_BYTES, 3},
    {"UTIL%", "utilization", TABLE_NUMBER, 5},
    {"IN", "bytes_in", TABLE_BYTES, 2},
    {"OUT", "bytes_out", TABLE_BYTES, 2},
    {"CALLS", "calls", TABLE_TEXT, 2},
    {0},
};

const struct pool_list_row pool_lists[LISTS] = {
    [LIST_BOXES] = {"/v1/boxes", "boxes", box_columns},
    [LIST_GPUS] = {"/v1/gpus", "gpus", gpu_columns},
    [LIST_LEASES] = {"/v1/leases", "leases", top_lease_columns},
    [LIST_SESSIONS] = {"/v1/sessions", "sessions", session_columns},
};

static const struct table_column health_columns[] = {
    {"BROKER", "broker", TABLE_TEXT},   {"STATUS", "status", TABLE_TEXT},
    {"BOXES", "boxes", TABLE_TEXT},     {"CONNECTED", "boxes_connected", TABLE_TEXT},
    {"LEASES", "leases", TABLE_TEXT},   {"TICKETS", "tickets", TABLE_TEXT},
    {"VERSION", "version", TABLE_TEXT}, {0},
};

static int pool_list_print(const struct command *command, int argc, char **argv,
                           enum pool_list which)
{
    const struct pool_list_row *row = &pool_lists[which];
    struct conversation pool;
    json_t *answer;
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    status = pool_call(&pool, "GET", row->path, NULL, &answer);
    if (!status) {
        pool_list_complete(which, json_object_get(answer, row->member));
        status = pool_print(&pool, answer, row->member, row->columns);
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

static int run_boxes(const struct command *command, int argc, char **argv)
{
    return pool_list_print(command, argc, argv, LIST_BOXES);
}

static int run_gpus(const struct command *command, int argc, char **argv)
{
    return pool_list_print(command, argc, argv, LIST_GPUS);
}

// The rows of a box that does not answer are those of its last answer.
static void name_stale(const json_t *sessions)
{
    const char *named = "";
    json_t *session;
    size_t i;

    json_array_foreach(sessions, i, session) {
        const char *box = json_string_value(json_object_get(session, "box"));
        if (!box || !json_is_true(json_object_get(session, "stale")) || !strcmp(box, named))
            continue;
        fprintf(stderr,
                "rgpuctl: box %s does not answer; its sessions are those of its last report\n",
                box);
        named = box;
    }
}

int pool_sessions(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    json_t *answer;
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    status = pool_call(&pool, "GET", "/v1/sessions", NULL, &answer);
    if (!status) {
        pool_list_complete(LIST_SESSIONS, json_object_get(answer, "sessions"));
        status = pool_print(&pool, answer, "sessions", session_columns);
        name_stale(json_object_get(answer, "sessions"));
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

// ---- leases ----

// "box1:0,1*4.0G box2:3": what people want to know of a lease in one word per box.
static void pool_list_describe_gpus(const json_t *gpus, char *text, size_t size)
{
    const char *box = "";
    size_t used = 0, i;
    json_t *gpu;

    text[0] = '\0';
    json_array_foreach(gpus, i, gpu) {
        const char *name = json_string_value(json_object_get(gpu, "box"));
        json_int_t memory = json_integer_value(json_object_get(gpu, "memory"));
        if (!name || used >= size)
            break;
        if (strcmp(box, name))
            used += (size_t)snprintf(text + used, size - used, "%s%s:", i ? " " : "", name);
        else
            used += (size_t)snprintf(text + used, size - used, ",");
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%lld",
                                     json_integer_value(json_object_get(gpu, "index")));
        if (used < size && memory)
            used +=
                (size_t)snprintf(text + used, size - used, "*%.1fG", (double)memory / (1 << 30));
        box = name;
    }
}

static void summarize(json_t *lease)
{
    json_int_t now = (json_int_t)time(NULL);
    json_int_t granted = json_integer_value(json_object_get(lease, "granted"));
    json_int_t created = json_integer_value(json_object_get(lease, "created"));
    const char *state = json_string_value(json_object_get(lease, "state"));
    const json_t *pending = json_object_get(lease, "pending");
    char where[256];

    pool_list_describe_gpus(json_object_get(lease, "gpus"), where, sizeof(where));
    json_object_set_new(lease, "where", json_string(where));
    json_object_set_new(lease, "age", json_integer(now - (granted ? granted : created)));
    if (json_object_get(lease, "reason"))
        return;
    if (pending)
        json_object_set_new(lease, "reason", json_copy((json_t *)pending));
    else if (state && !strcmp(state, "queued"))
        json_object_set_new(lease, "reason", json_string("rgpuctl show tells"));
}

void pool_list_complete(enum pool_list list, json_t *rows)
{
    json_t *row;
    size_t i;

    if (list == LIST_BOXES || list == LIST_GPUS)
        pool_tell_drains(rows);
    else
        pool_name_owners(rows);
    json_array_foreach(rows, i, row)
        if (list == LIST_LEASES)
            summarize(row);
}

static int run_leases(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    json_t *answer;
    const char *state;
    char path[128];
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    state = pool_option(&pool, "state");
    snprintf(path, sizeof(path), "/v1/leases%s%.20s", state ? "?state=" : "", state ? state : "");
    status = pool_call(&pool, "GET", path, NULL, &answer);
    if (!status) {
        if (!pool_option(&pool, "json") || pool_option(&pool, "sort") || pool_option(&pool, "only"))
            pool_list_complete(LIST_LEASES, json_object_get(answer, "leases"));
        status = pool_print(&pool, answer, "leases", lease_columns);
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

// ---- health ----

// Returns the problem of a pool whose broker is well, or NULL, and puts it in place of "ok".
static const char *find_pool_problem(json_t *health)
{
    const char *word = NULL, *text = NULL;

    if (!json_is_true(json_object_get(health, "tickets"))) {
        word = "no-key";
        text = "the broker issues no tickets: it has no cluster key";
    } else if (json_integer_value(json_object_get(health, "boxes")) !=
               json_integer_value(json_object_get(health, "boxes_connected"))) {
        word = "box-away";
        text = "a box is away; see rgpuctl boxes";
    }
    if (word)
        json_object_set_new(health, "status", json_string(word));
    return text;
}

int pool_health(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    json_t *answer, *rows;
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    status = pool_call(&pool, "GET", "/healthz", NULL, &answer);
    if (!status) {
        const char *problem = find_pool_problem(answer);
        json_object_set_new(answer, "broker", json_string(broker_client_address(pool.client)));
        rows = json_pack("{s:[O]}", "health", answer);
        status = pool_print(&pool, rows, "health", health_columns);
        if (!status && problem) {
            fprintf(stderr, "rgpuctl health: %s\n", problem);
            status = EXIT_ANSWER_NO;
        }
        json_decref(rows);
        json_decref(answer);
    }
    pool_close(&pool);
    return slurm_health(status);
}

// ---- brokers ----

static const struct table_column broker_columns[] = {
    {"BROKER", "name", TABLE_TEXT},
    {"ROLE", "role", TABLE_TEXT},
    {"POSITION", "position", TABLE_TEXT},
    {0},
};

// The broker that answers is the only one unless the pool is replicated.
static json_t *list_brokers(const struct conversation *pool, const json_t *health)
{
    json_t *brokers = json_object_get(json_object_get(health, "replication"), "brokers");

    return brokers ? json_pack("{s:O}", "brokers", brokers)
                   : json_pack("{s:[{s:s, s:s}]}", "brokers", "name",
                               broker_client_address(pool->client), "role", "alone");
}

static int run_broker(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    json_t *answer, *rows;
    int status = pool_open(&pool, command, argc, argv, 1, 1);

    if (status >= 0)
        return status;
    if (strcmp(pool.line.argv[0], "status") != 0) {
        fprintf(stderr, "rgpuctl broker: status; see rgpuctl broker --help\n");
        pool_close(&pool);
        return EXIT_USAGE;
    }
    status = pool_call(&pool, "GET", "/healthz", NULL, &answer);
    if (!status) {
        rows = list_brokers(&pool, answer);
        status = pool_print(&pool, rows, "brokers", broker_columns);
        json_decref(rows);
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

static const struct command_option list_options[] = {
    POOL_OPTIONS,
    TABLE_WISH_OPTIONS,
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

static const struct command_option lease_options[] = {
    POOL_OPTIONS,
    {"state", "STATE", "only queued, granted, lost, ending or ended ones", 0,
     "queued|granted|lost|ending|ended"},
    TABLE_WISH_OPTIONS,
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

static const struct command_option usage_options[] = {
    POOL_OPTIONS,
    {"by", "WHAT", "a line for each user, account or lease [user]", 0, "user|account|lease"},
    {"job", "ID", "a line for each lease of this job", 0},
    {"user", "NAME", "of this user only; ordinary users see themselves", 0},
    {"from", "TIME", "2026-11-01, 2026-11-01T12:30, or a time ago such as 30d [7d]", 0},
    {"to", "TIME", "until then [now]", 0},
    {"monthly", NULL, "a line for each month, of the last twelve unless --from is given", 0},
    TABLE_WISH_OPTIONS,
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

const struct command pool_list_commands[] = {
    {"boxes", "", "Lists the boxes of the pool.", list_options, run_boxes},
    {"gpus", "", "Lists the GPUs of the pool.", list_options, run_gpus},
    {"leases", "", "Lists who holds GPUs, and who waits for them.", lease_options, run_leases},
    {"usage", "", "Shows what users have had of the pool.", usage_options, pool_usage},
    {"broker", "status", "Lists the pool's brokers: which one leads, and how far the others are.",
     list_options, run_broker},
    {0},
};
