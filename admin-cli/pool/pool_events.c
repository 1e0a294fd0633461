// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl events: the event log of the pool, and new events as they happen.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin-cli/output/conversation.h"
#include "common/base/scope.h"

// Returns the detail as text, with the user's name in place of the number; the caller frees it.
static char *event_detail(const json_t *event)
{
    json_t *rows = json_pack("[O]", json_object_get(event, "detail"));
    json_t *detail = json_array_get(rows, 0);
    char *text;

    pool_name_owners(rows);
    json_object_del(detail, "owner");
    text = json_object_size(detail) ? json_dumps(detail, JSON_COMPACT) : NULL;
    json_decref(rows);
    return text;
}

static void print_event(const json_t *event)
{
    static const char *const members[] = {"box", "gpu", "lease"};
    const char *actor = json_string_value(json_object_get(event, "actor"));
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
    SCOPED_FREE char *detail = event_detail(event);
    printf(" by=\"%s\"%s%s\n", actor ? pool_name_actor(actor) : "", detail ? " " : "",
           detail ? detail : "");
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

static const struct command_option event_options[] = {
    POOL_OPTIONS,
    {"follow", NULL, "go on with what happens from now on", 0},
    {"lines", "N", "how many past events to begin with [20]", 0, "0..100000"},
    {"json", NULL, "one JSON object per line", 0},
    {0},
};

const struct command pool_event_commands[] = {
    {"events", "", "Shows what has happened in the pool.", event_options, run_events},
    {0},
};
