// SPDX-License-Identifier: BSD-3-Clause
// Commands that show everything about one box, GPU or lease.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "admin-cli/output/conversation.h"
#include "common/base/scope.h"

__attribute__((format(printf, 2, 3))) static void put(const char *name, const char *format, ...)
{
    va_list arguments;

    printf("%-12s ", name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void put_member(const char *name, const json_t *object, const char *member,
                       enum table_format format)
{
    const json_t *value = json_object_get(object, member);
    char text[1024];

    table_format_value(value, format, text, sizeof(text));
    if (value && *text)
        put(name, "%s", text);
}

static void put_time(const char *name, const json_t *object, const char *member)
{
    time_t when = (time_t)json_integer_value(json_object_get(object, member));
    char stamp[32];
    struct tm parts;

    if (when && localtime_r(&when, &parts) && strftime(stamp, sizeof(stamp), "%F %T", &parts))
        put(name, "%s", stamp);
}

static void put_drain(const json_t *object)
{
    const json_t *drain = json_object_get(object, "drain");
    char text[512];

    if (!drain)
        return;
    pool_tell_drain(drain, text, sizeof(text));
    put("Drained:", "%s", text);
}

static void put_gpu_line(const json_t *gpu)
{
    char memory[32], rest[32];

    table_format_value(json_object_get(gpu, "memory"), TABLE_BYTES, memory, sizeof(memory));
    table_format_value(json_object_get(gpu, "free"), TABLE_BYTES, rest, sizeof(rest));
    put("GPU:", "%lld %s %s %s, %s of %s free, %lld leases",
        json_integer_value(json_object_get(gpu, "index")),
        json_string_value(json_object_get(gpu, "model")),
        json_string_value(json_object_get(gpu, "state")),
        json_string_value(json_object_get(gpu, "mode")), rest, memory,
        json_integer_value(json_object_get(gpu, "leases")));
}

static void pool_show_box(const json_t *answer)
{
    const json_t *box = json_object_get(answer, "box"), *gpus = json_object_get(answer, "gpus");
    json_t *gpu;
    size_t i;

    put_member("Box:", box, "name", TABLE_TEXT);
    put_member("State:", box, "state", TABLE_TEXT);
    put_drain(box);
    put_member("Addresses:", box, "addresses", TABLE_TEXT);
    put_member("Locality:", box, "locality", TABLE_TEXT);
    put_member("Transports:", box, "transports", TABLE_TEXT);
    put_member("Version:", box, "version", TABLE_TEXT);
    put_time("Registered:", box, "registered");
    json_array_foreach(gpus, i, gpu)
        put_gpu_line(gpu);
}

static void show_gpu(const json_t *answer)
{
    const json_t *gpu = json_object_get(answer, "gpu");

    put_member("GPU:", gpu, "uuid", TABLE_TEXT);
    put_member("Box:", gpu, "box", TABLE_TEXT);
    put_member("Number:", gpu, "index", TABLE_TEXT);
    put_member("Model:", gpu, "model", TABLE_TEXT);
    put_member("State:", gpu, "state", TABLE_TEXT);
    put_drain(gpu);
    put_member("Mode:", gpu, "mode", TABLE_TEXT);
    put_member("Memory:", gpu, "memory", TABLE_BYTES);
    put_member("Free:", gpu, "free", TABLE_BYTES);
    put_member("Leases:", gpu, "leases", TABLE_TEXT);
}

static void pool_show_lease(const json_t *answer)
{
    json_t *lease = json_object_get(answer, "lease"), *gpus = json_object_get(lease, "gpus"), *gpu;
    SCOPED_FREE char *request = json_dumps(json_object_get(lease, "request"), JSON_COMPACT);
    json_t *rows = json_pack("[O]", lease);
    size_t i;

    pool_name_owners(rows);
    json_decref(rows);
    put_member("Lease:", lease, "id", TABLE_TEXT);
    put_member("State:", lease, "state", TABLE_TEXT);
    put_member("Waits:", lease, "pending", TABLE_TEXT);
    put_member("Reason:", lease, "reason", TABLE_TEXT);
    put_member("Owner:", lease, "user", TABLE_TEXT);
    put_member("Job:", lease, "job", TABLE_TEXT);
    put_member("Key:", lease, "key", TABLE_TEXT);
    put("Request:", "%s", request ? request : "");
    put_time("Created:", lease, "created");
    put_time("Granted:", lease, "granted");
    put_time("Expires:", lease, "expires");
    put_time("Ended:", lease, "ended");
    json_array_foreach(gpus, i, gpu) {
        const char *uuid = json_string_value(json_object_get(gpu, "gpu"));
        const char *mode = json_string_value(json_object_get(gpu, "mode"));
        char memory[32];

        table_format_value(json_object_get(gpu, "memory"), TABLE_BYTES, memory, sizeof(memory));
        put("GPU:", "%s on %s, %s%s%s", uuid, json_string_value(json_object_get(gpu, "box")), mode,
            strcmp(mode, "shared") ? "" : " ", strcmp(mode, "shared") ? "" : memory);
    }
}

// A lease by its id, a GPU by its UUID or as BOX:NUMBER, else a box.
static void (*find_kind(const char *name, const char **folder))(const json_t *)
{
    bool is_lease = name[0] == 'L' && strlen(name) == 16 && !strpbrk(name, ":.-_");
    bool is_gpu = strchr(name, ':') || !strncmp(name, "GPU-", 4) || !strncmp(name, "MIG-", 4);

    *folder = is_lease ? "leases" : is_gpu ? "gpus" : "boxes";
    return is_lease ? pool_show_lease : is_gpu ? show_gpu : pool_show_box;
}

static int run_show(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    void (*show)(const json_t *answer);
    const char *folder;
    char path[256];
    json_t *answer;
    int status = pool_open(&pool, command, argc, argv, 1, 1);

    if (status >= 0)
        return status;
    show = find_kind(pool.line.argv[0], &folder);
    status = 0;
    if (strpbrk(pool.line.argv[0], "/?#% ") || strlen(pool.line.argv[0]) > 120) {
        fprintf(stderr, "rgpuctl show: %s is no name of a box, GPU or lease\n", pool.line.argv[0]);
        status = EXIT_USAGE;
    }
    snprintf(path, sizeof(path), "/v1/%s/%.120s", folder, pool.line.argv[0]);
    if (!status)
        status = pool_call(&pool, "GET", path, NULL, &answer);
    if (!status && pool_option(&pool, "json")) {
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (!status) {
        show(answer);
    }
    if (!status)
        json_decref(answer);
    pool_close(&pool);
    return status;
}

static const struct command_option show_options[] = {
    POOL_OPTIONS,
    {"json", NULL, "the broker's answer as it is", 0},
    {0},
};

const struct command pool_show_commands[] = {
    {"show", "BOX|GPU|LEASE", "Shows all that is known of a box, a GPU or a lease.", show_options,
     run_show},
    {0},
};
