// SPDX-License-Identifier: BSD-3-Clause
// Commands that show the pool.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admin-cli/conversation.h"
#include "admin-cli/table_wish.h"
#include "common/scope.h"

static const struct table_column box_columns[] = {
    {"BOX", "name", TABLE_TEXT},
    {"STATE", "state", TABLE_TEXT},
    {"GPUS", "gpus", TABLE_TEXT},
    {"USED", "gpus_used", TABLE_TEXT},
    {"LEASES", "holds", TABLE_TEXT},
    {"ADDRESSES", "addresses", TABLE_TEXT},
    {"LOCALITY", "locality", TABLE_TEXT},
    {"TRANSPORTS", "transports", TABLE_TEXT},
    {"VERSION", "version", TABLE_TEXT},
    {"REASON", "why", TABLE_TEXT},
    {0},
};

static const struct table_column gpu_columns[] = {
    {"BOX", "box", TABLE_TEXT},
    {"GPU", "index", TABLE_TEXT},
    {"MODEL", "model", TABLE_TEXT},
    {"STATE", "state", TABLE_TEXT},
    {"MODE", "mode", TABLE_TEXT},
    {"MEMORY", "memory", TABLE_BYTES},
    {"FREE", "free", TABLE_BYTES},
    {"LEASES", "leases", TABLE_TEXT},
    {"UTIL%", "utilization", TABLE_NUMBER},
    {"DRIVER", "driver_bytes", TABLE_BYTES},
    {"PROCS", "processes", TABLE_NUMBER},
    {"TEMP", "temperature", TABLE_NUMBER},
    {"WATTS", "power", TABLE_DECIMAL},
    {"UUID", "uuid", TABLE_TEXT},
    {"AUTO", "auto", TABLE_TEXT},
    {"REASON", "why", TABLE_TEXT},
    {0},
};

static const struct table_column lease_columns[] = {
    {"LEASE", "id", TABLE_TEXT},      {"STATE", "state", TABLE_TEXT},
    {"OWNER", "user", TABLE_TEXT},    {"JOB", "job", TABLE_TEXT},
    {"GPUS", "where", TABLE_TEXT},    {"AGE", "age", TABLE_SECONDS},
    {"REASON", "reason", TABLE_TEXT}, {0},
};

static const struct table_column session_columns[] = {
    {"BOX", "box", TABLE_TEXT},
    {"SESSION", "session", TABLE_TEXT},
    {"LEASE", "lease", TABLE_TEXT},
    {"CLIENT", "client", TABLE_TEXT},
    {"PEER", "peer", TABLE_TEXT},
    {"TRANSPORT", "transport", TABLE_TEXT},
    {"PROTECTION", "protection", TABLE_TEXT},
    {"AGE", "age_seconds", TABLE_SECONDS},
    {"MEMORY", "memory", TABLE_BYTES},
    {"DRIVER", "driver_bytes", TABLE_BYTES},
    {"UTIL%", "utilization", TABLE_NUMBER},
    {"IN", "bytes_in", TABLE_BYTES},
    {"OUT", "bytes_out", TABLE_BYTES},
    {"CALLS", "calls", TABLE_TEXT},
    {0},
};

static const struct table_column health_columns[] = {
    {"BROKER", "broker", TABLE_TEXT},   {"STATUS", "status", TABLE_TEXT},
    {"BOXES", "boxes", TABLE_TEXT},     {"CONNECTED", "boxes_connected", TABLE_TEXT},
    {"LEASES", "leases", TABLE_TEXT},   {"TICKETS", "tickets", TABLE_TEXT},
    {"VERSION", "version", TABLE_TEXT}, {0},
};

static int list(const struct command *command, int argc, char **argv, const char *path,
                const char *member, const struct table_column *columns)
{
    struct conversation pool;
    json_t *answer;
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    status = pool_call(&pool, "GET", path, NULL, &answer);
    if (!status) {
        pool_tell_drains(json_object_get(answer, member));
        status = pool_print(&pool, answer, member, columns);
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

static int run_boxes(const struct command *command, int argc, char **argv)
{
    return list(command, argc, argv, "/v1/boxes", "boxes", box_columns);
}

static int run_gpus(const struct command *command, int argc, char **argv)
{
    return list(command, argc, argv, "/v1/gpus", "gpus", gpu_columns);
}

// What is shown of a box that does not answer is as it was when it did.
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
        status = pool_print(&pool, answer, "sessions", session_columns);
        name_stale(json_object_get(answer, "sessions"));
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

// ---- leases ----

// "box1:0,1*4.0G box2:3": what people want to know of a lease in one word per box.
static void describe_gpus(const json_t *gpus, char *text, size_t size)
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

static void add_summaries(json_t *leases)
{
    json_int_t now = (json_int_t)time(NULL);
    json_t *lease;
    size_t i;

    pool_name_owners(leases);
    json_array_foreach(leases, i, lease) {
        json_int_t granted = json_integer_value(json_object_get(lease, "granted"));
        json_int_t created = json_integer_value(json_object_get(lease, "created"));
        char where[256];
        describe_gpus(json_object_get(lease, "gpus"), where, sizeof(where));
        json_object_set_new(lease, "where", json_string(where));
        if (!json_object_get(lease, "reason") && json_object_get(lease, "pending"))
            json_object_set(lease, "reason", json_object_get(lease, "pending"));
        json_object_set_new(lease, "age", json_integer(now - (granted ? granted : created)));
    }
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
            add_summaries(json_object_get(answer, "leases"));
        status = pool_print(&pool, answer, "leases", lease_columns);
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}

// ---- health ----

int pool_health(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    json_t *answer, *rows;
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    status = pool_call(&pool, "GET", "/healthz", NULL, &answer);
    if (!status) {
        json_object_set_new(answer, "broker", json_string(broker_client_address(pool.client)));
        rows = json_pack("{s:[O]}", "health", answer);
        status = pool_print(&pool, rows, "health", health_columns);
        if (!status && (json_integer_value(json_object_get(answer, "boxes")) !=
                            json_integer_value(json_object_get(answer, "boxes_connected")) ||
                        !json_is_true(json_object_get(answer, "tickets")))) {
            fprintf(stderr, "rgpuctl health: %s\n",
                    json_is_true(json_object_get(answer, "tickets"))
                        ? "a box is away; see rgpuctl boxes"
                        : "the broker issues no tickets: it has no cluster key");
            status = EXIT_ANSWER_NO;
        }
        json_decref(rows);
        json_decref(answer);
    }
    pool_close(&pool);
    return slurm_health(status);
}

// ---- top ----

static int print_screen(struct conversation *pool, bool clear)
{
    static const struct {
        const char *path, *member;
        const struct table_column *columns;
    } parts[] = {
        {"/v1/boxes", "boxes", box_columns},
        {"/v1/gpus", "gpus", gpu_columns},
        {"/v1/leases", "leases", lease_columns},
        {"/v1/sessions", "sessions", session_columns},
    };
    json_t *answers[4] = {0};
    int status = 0;

    for (size_t i = 0; !status && i < 4; i++)
        status = pool_call(pool, "GET", parts[i].path, NULL, &answers[i]);
    if (!status) {
        pool_tell_drains(json_object_get(answers[0], "boxes"));
        pool_tell_drains(json_object_get(answers[1], "gpus"));
        add_summaries(json_object_get(answers[2], "leases"));
        if (clear)
            fputs("\033[H\033[J", stdout);
        for (size_t i = 0; i < 4; i++) {
            if (table_print(parts[i].columns, json_object_get(answers[i], parts[i].member)))
                status = EXIT_ANSWER_NO;
            putchar('\n');
        }
        fflush(stdout);
    }
    for (size_t i = 0; i < 4; i++)
        json_decref(answers[i]);
    return status;
}

// A new screen after every change in the pool, and every few seconds for what sessions do.
static int run_top(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    const char *interval_text;
    json_int_t last = -1;
    bool once;
    int interval = 2, status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    interval_text = pool_option(&pool, "interval");
    if (interval_text)
        interval = atoi(interval_text);
    if (interval < 1 || interval > 50) {
        fprintf(stderr, "rgpuctl top: --interval is 1 to 50 seconds\n");
        pool_close(&pool);
        return EXIT_USAGE;
    }
    once = pool_option(&pool, "once") || !isatty(STDOUT_FILENO);
    do {
        status = print_screen(&pool, !once);
        if (!status && !once)
            status = pool_await_event(&pool, (unsigned)interval, &last);
    } while (!status && !once);
    pool_close(&pool);
    return status;
}

// ---- events ----

static void print_event(const json_t *event)
{
    static const char *const members[] = {"box", "gpu", "lease"};
    time_t when = (time_t)json_integer_value(json_object_get(event, "time"));
    char stamp[32] = "";
    struct tm parts;

    if (localtime_r(&when, &parts))
        strftime(stamp, sizeof(stamp), "%F %T", &parts);
    printf("%s %-14s", stamp, json_string_value(json_object_get(event, "kind")));
    for (size_t i = 0; i < 3; i++) {
        const char *value = json_string_value(json_object_get(event, members[i]));
        if (value)
            printf(" %s=%s", members[i], value);
    }
    SCOPED_FREE char *detail = json_dumps(json_object_get(event, "detail"), JSON_COMPACT);
    printf(" by=\"%s\"%s%s\n", json_string_value(json_object_get(event, "actor")),
           detail && strcmp(detail, "{}") ? " " : "", detail && strcmp(detail, "{}") ? detail : "");
}

static void print_events(const struct conversation *pool, const json_t *events, json_int_t *last)
{
    json_t *event;
    size_t i;

    json_array_foreach(events, i, event) {
        if (pool_option(pool, "json")) {
            json_dumpf(event, stdout, JSON_COMPACT);
            putchar('\n');
        } else {
            print_event(event);
        }
        *last = json_integer_value(json_object_get(event, "sequence"));
    }
    fflush(stdout);
}

static int run_events(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    const char *lines;
    json_int_t last;
    json_t *answer;
    bool follow;
    char path[128];
    int error, status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    lines = pool_option(&pool, "lines");
    last = -1 - (lines ? atoi(lines) : 20);
    follow = pool_option(&pool, "follow");
    for (bool first = true; first || follow; first = false) {
        snprintf(path, sizeof(path), "/v1/events?after=%lld&wait=%d&limit=1000", (long long)last,
                 first ? 0 : 50);
        error = broker_client_call_for(pool.client, 70000, "GET", path, NULL, &answer);
        if (error) {
            status = pool_explain(&pool, error);
            break;
        }
        status = 0;
        if (last < 0)
            last = json_integer_value(json_object_get(answer, "last"));
        print_events(&pool, json_object_get(answer, "events"), &last);
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
    {"user", "NAME", "of this user only; ordinary users see themselves", 0},
    {"from", "TIME", "2026-11-01, 2026-11-01T12:30, or a time ago such as 30d [7d]", 0},
    {"to", "TIME", "until then [now]", 0},
    TABLE_WISH_OPTIONS,
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

static const struct command_option top_options[] = {
    POOL_OPTIONS,
    {"interval", "SECONDS", "how often sessions are looked at [2]", 0, "1..3600"},
    {"once", NULL, "one screen, without clearing; so it is where the output is no terminal", 0},
    {0},
};

static const struct command_option event_options[] = {
    POOL_OPTIONS,
    {"follow", NULL, "go on with what happens from now on", 0},
    {"lines", "N", "how many past events to begin with [20]", 0, "0..100000"},
    {"json", NULL, "one JSON object per line", 0},
    {0},
};

const struct command pool_list_commands[] = {
    {"boxes", "", "Lists the boxes of the pool.", list_options, run_boxes},
    {"gpus", "", "Lists the GPUs of the pool.", list_options, run_gpus},
    {"leases", "", "Lists who holds GPUs, and who waits for them.", lease_options, run_leases},
    {"usage", "", "Shows what users have had of the pool.", usage_options, pool_usage},
    {"top", "", "Shows boxes, GPUs, leases and sessions, live.", top_options, run_top},
    {"events", "", "Shows what has happened in the pool.", event_options, run_events},
    {0},
};
