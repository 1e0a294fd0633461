// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/output/conversation.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin-cli/output/listing.h"
#include "common/base/clock.h"
#include "common/base/units.h"

int pool_explain(const struct conversation *pool, int error)
{
    fprintf(stderr, "rgpuctl %s: %s\n", pool->command->name, broker_client_error(pool->client));
    switch (error) {
    case -ECONNREFUSED:
    case -EHOSTUNREACH:
    case -ETIMEDOUT:
    case -EPROTO: return EXIT_UNREACHABLE;
    default: return EXIT_ANSWER_NO;
    }
}

int pool_read_timeout(const struct command *command, const struct command_line *line, double *until)
{
    const char *text = command_value(command, line, "timeout");
    uint64_t microseconds = 0;

    *until = 0;
    if (!text)
        return 0;
    if (units_parse_duration(text, &microseconds)) {
        fprintf(stderr, "rgpuctl %s: --timeout %s is not a time such as 30s or 5m\n", command->name,
                text);
        return EXIT_USAGE;
    }
    *until = clock_seconds() + (double)microseconds / 1e6;
    return 0;
}

bool pool_is_late(const struct command *command, const struct command_line *line, double until)
{
    if (until <= 0 || clock_seconds() < until)
        return false;
    fprintf(stderr, "rgpuctl %s: not within %s\n", command->name,
            command_value(command, line, "timeout"));
    return true;
}

int pool_open(struct conversation *pool, const struct command *command, int argc, char **argv,
              int min, int max)
{
    struct broker_client_options options = {0};
    int error, status;

    memset(pool, 0, sizeof(*pool));
    pool->command = command;
    status = command_parse(command, argc, argv, &pool->line);
    if (status >= 0)
        return status;
    if (pool->line.argc < min || pool->line.argc > max) {
        fprintf(stderr, "rgpuctl %s: %s; see rgpuctl %s --help\n", command->name,
                pool->line.argc < min ? "something is missing" : "too many arguments",
                command->name);
        return EXIT_USAGE;
    }
    status = pool_read_timeout(command, &pool->line, &pool->until);
    if (status)
        return status;
    options.address = pool_option(pool, "broker");
    options.key_file = pool_option(pool, "key");
    error = broker_client_open(&options, &pool->client);
    if (!error)
        return -1;
    fprintf(stderr, "rgpuctl %s: %s\n", command->name, broker_client_error(pool->client));
    pool_close(pool);
    return error == -ENOENT ? EXIT_UNREACHABLE : EXIT_USAGE;
}

void pool_close(struct conversation *pool)
{
    broker_client_close(&pool->client);
}

const char *pool_option(const struct conversation *pool, const char *name)
{
    return command_value(pool->command, &pool->line, name);
}

int pool_call(struct conversation *pool, const char *method, const char *path, const json_t *body,
              json_t **answer)
{
    int error = broker_client_call(pool->client, method, path, body, answer);

    return error ? pool_explain(pool, error) : 0;
}

int pool_await_event(struct conversation *pool, unsigned seconds, json_int_t *last)
{
    char path[128];
    json_t *answer;
    int error;

    if (pool_is_late(pool->command, &pool->line, pool->until))
        return EXIT_ANSWER_NO;
    if (pool->until > 0) {
        double left = pool->until - clock_seconds();
        seconds = left < seconds ? (unsigned)left + 1 : seconds;
    }
    snprintf(path, sizeof(path), "/v1/events?after=%lld&wait=%u&limit=1", (long long)*last,
             seconds);
    error = broker_client_call_for(pool->client, (seconds + 10) * 1000, "GET", path, NULL, &answer);
    if (error)
        return pool_explain(pool, error);
    *last = json_integer_value(json_object_get(answer, "last"));
    json_decref(answer);
    return 0;
}

int pool_print(const struct conversation *pool, const json_t *answer, const char *member,
               const struct table_column *columns)
{
    return listing_print(pool->command, &pool->line, json_object_get(answer, member), columns);
}

void pool_name_owners(json_t *rows)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const json_t *owner = json_object_get(row, "owner");
        const struct passwd *entry =
            json_is_integer(owner) ? getpwuid((uid_t)json_integer_value(owner)) : NULL;
        char number[16];

        if (!owner)
            continue;
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(owner));
        json_object_set_new(row, "user", json_string(entry ? entry->pw_name : number));
    }
}

const char *pool_name_actor(const char *actor)
{
    const char *uid = strstr(actor, "uid=");
    const struct passwd *entry = uid ? getpwuid((uid_t)strtoul(uid + 4, NULL, 10)) : NULL;

    return entry ? entry->pw_name : actor;
}

void pool_tell_drain(const json_t *drain, char *text, size_t size)
{
    const char *reason = json_string_value(json_object_get(drain, "reason"));
    const char *by = json_string_value(json_object_get(drain, "by"));
    time_t since = (time_t)json_integer_value(json_object_get(drain, "since"));
    char stamp[32] = "at an unknown time";
    struct tm parts;

    if (since && localtime_r(&since, &parts))
        strftime(stamp, sizeof(stamp), "%F %H:%M", &parts);
    snprintf(text, size, "%s (%s, %s)", reason && *reason ? reason : "-",
             by && *by ? pool_name_actor(by) : "an unknown user", stamp);
}

void pool_tell_drains(json_t *rows)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const json_t *drain = json_object_get(row, "drain");
        char text[512];

        if (!drain)
            continue;
        pool_tell_drain(drain, text, sizeof(text));
        json_object_set_new(row, "why", json_string(text));
    }
}

bool pool_is_meant(const struct command *command, int argc, char **argv, bool without_name)
{
    struct broker_client *client = NULL;
    struct command_line line;
    bool known;

    // The command that parses it reports an invalid command line.
    if (!command_look(command, argc, argv, &line) || command_value(command, &line, "socket"))
        return false;
    if (command_value(command, &line, "broker") || line.argc || !without_name)
        return command_value(command, &line, "broker") || line.argc;
    known = broker_client_open(NULL, &client) == 0;
    broker_client_close(&client);
    return known;
}
