// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl usage: the users' use of the pool.
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin-cli/output/conversation.h"
#include "admin-cli/output/listing.h"
#include "admin-cli/output/table_wish.h"
#include "common/base/units.h"

#define USAGE_COLUMNS \
    {"LEASES", "leases", TABLE_TEXT}, {"GPU-HOURS", "gpu_hours", TABLE_DECIMAL}, \
        {"BUSY-HOURS", "busy_gpu_hours", TABLE_DECIMAL}, \
        {"IDLE-HOURS", "idle_gpu_hours", TABLE_DECIMAL}, \
        {"EFFICIENCY%", "efficiency", TABLE_NUMBER}, \
        {"GIB-HOURS", "memory_gib_hours", TABLE_DECIMAL}, {"NET-IN", "bytes_in", TABLE_BYTES}, \
        {"NET-OUT", "bytes_out", TABLE_BYTES}, {"WAITED", "waited_seconds", TABLE_SECONDS}, \
    { \
        "ESTIMATED", "estimated", TABLE_TEXT \
    }

static const struct table_column of_users[] = {{"USER", "user", TABLE_TEXT}, USAGE_COLUMNS, {0}};
static const struct table_column of_accounts[] = {{"ACCOUNT", "account", TABLE_TEXT},
                                                  USAGE_COLUMNS,
                                                  {0}};
static const struct table_column of_leases[] = {{"LEASE", "lease", TABLE_TEXT},
                                                {"USER", "user", TABLE_TEXT},
                                                {"ACCOUNT", "account", TABLE_TEXT},
                                                {"JOB", "job", TABLE_TEXT},
                                                USAGE_COLUMNS,
                                                {0}};

// The values of --by, their place in the answer, and their columns.
static const struct usage_table {
    const char *by, *list;
    const struct table_column *columns;
} usage_tables[] = {
    {"user", "users", of_users},
    {"account", "accounts", of_accounts},
    {"lease", "leases", of_leases},
};

static const struct usage_table *usage_find_table(const char *by)
{
    for (size_t i = 0; by && i < sizeof(usage_tables) / sizeof(usage_tables[0]); i++)
        if (!strcmp(usage_tables[i].by, by))
            return &usage_tables[i];
    return &usage_tables[0];
}

// "2026-11-01", "2026-11-01T12:30", or a time ago such as 7d.
static int read_time(const char *text, time_t standard, time_t *out)
{
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
    uint64_t ago;

    *out = standard;
    if (!text)
        return 0;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm parts = {.tm_isdst = -1};
        const char *end = strptime(text, forms[i], &parts);

        if (end && !*end) {
            *out = mktime(&parts);
            return 0;
        }
    }
    if (units_parse_duration(text, &ago) || !text[strspn(text, "0123456789")]) {
        fprintf(stderr,
                "rgpuctl usage: %s is no time: 2026-11-01, 2026-11-01T12:30, or a time ago "
                "such as 7d\n",
                text);
        return EXIT_USAGE;
    }
    *out = time(NULL) - (time_t)(ago / 1000000);
    return 0;
}

static int usage_read_user(const char *name, long long *uid)
{
    const struct passwd *entry = name ? getpwnam(name) : NULL;
    char *end;

    *uid = -1;
    if (!name)
        return 0;
    *uid = entry ? (long long)entry->pw_uid : strtoll(name, &end, 10);
    if (entry || (*name && !*end && *uid >= 0))
        return 0;
    fprintf(stderr, "rgpuctl usage: there is no user %s\n", name);
    return EXIT_USAGE;
}

// The part of the GPUs' time for which they were busy, in percent, and the rest of it in hours.
// Unknown without such a time.
static void usage_add_efficiency(json_t *rows)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) {
        double held = json_number_value(json_object_get(row, "gpu_hours"));
        double busy = json_number_value(json_object_get(row, "busy_gpu_hours"));
        if (held <= 0)
            continue;
        if (busy > held)
            busy = held;
        json_object_set_new(row, "efficiency", json_integer((json_int_t)(100 * busy / held + 0.5)));
        json_object_set_new(row, "idle_gpu_hours", json_real(held - busy));
    }
}

// Leaves the leases of one job of a scheduler, which names a lease "slurm job 4711".
static int usage_keep_job(json_t *rows, const char *job)
{
    size_t i = 0;

    while (i < json_array_size(rows)) {
        const char *name = json_string_value(json_object_get(json_array_get(rows, i), "job"));
        const char *last = name ? strrchr(name, ' ') : NULL;
        if (name && (!strcmp(name, job) || (last && !strcmp(last + 1, job))))
            i++;
        else
            json_array_remove(rows, i);
    }
    if (json_array_size(rows))
        return 0;
    fprintf(stderr, "rgpuctl usage: no lease of job %s is known in this time; see --from\n", job);
    return EXIT_ANSWER_NO;
}

// ---- months ----

// Returns the begin of the month COUNT months after that of TIME, in local time.
static time_t usage_month(time_t time, int count)
{
    struct tm parts;

    localtime_r(&time, &parts);
    parts = (struct tm){
        .tm_year = parts.tm_year, .tm_mon = parts.tm_mon + count, .tm_mday = 1, .tm_isdst = -1};
    return mktime(&parts);
}

struct usage_wish {
    const struct usage_table *table;
    long long uid;
    time_t from, to;
};

// Adds the rows of a time to ROWS, each with the month in which it begins.
static int usage_ask(struct conversation *pool, const struct usage_wish *wish, json_t *rows)
{
    char path[192], month[16];
    struct tm parts;
    json_t *answer, *row;
    size_t i;
    int status;

    snprintf(path, sizeof(path), "/v1/usage?from=%lld&to=%lld&owner=%lld&by=%s",
             (long long)wish->from, (long long)wish->to, wish->uid, wish->table->by);
    status = pool_call(pool, "GET", path, NULL, &answer);
    if (status)
        return status;
    localtime_r(&wish->from, &parts);
    strftime(month, sizeof(month), "%Y-%m", &parts);
    json_array_foreach(json_object_get(answer, wish->table->list), i, row)
        json_object_set_new(row, "month", json_string(month));
    json_array_extend(rows, json_object_get(answer, wish->table->list));
    json_decref(answer);
    return 0;
}

static int usage_ask_monthly(struct conversation *pool, const struct usage_wish *wish, json_t *rows)
{
    struct usage_wish part = *wish;
    int status = 0;

    for (; !status && part.from < wish->to; part.from = part.to) {
        part.to = usage_month(part.from, 1);
        if (part.to > wish->to)
            part.to = wish->to;
        status = usage_ask(pool, &part, rows);
    }
    return status;
}

static int usage_print(const struct conversation *pool, const struct usage_table *table,
                       const json_t *rows)
{
    struct table_column columns[TABLE_COLUMNS_MAX] = {{"MONTH", "month", TABLE_TEXT}};
    bool monthly = pool_option(pool, "monthly") != NULL;

    for (size_t i = 0; table->columns[i].title; i++)
        columns[i + 1] = table->columns[i];
    return listing_print(pool->command, &pool->line, rows, columns + !monthly);
}

static int usage_read_wish(const struct conversation *pool, struct usage_wish *out)
{
    time_t now = time(NULL);
    bool monthly = pool_option(pool, "monthly") != NULL;
    int status = read_time(pool_option(pool, "from"),
                           monthly ? usage_month(now, -11) : now - 7 * 86400, &out->from);

    out->table = usage_find_table(pool_option(pool, "job") ? "lease" : pool_option(pool, "by"));
    if (!status)
        status = read_time(pool_option(pool, "to"), now + 1, &out->to);
    return status ? status : usage_read_user(pool_option(pool, "user"), &out->uid);
}

int pool_usage(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    struct usage_wish wish;
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    const char *job = pool_option(&pool, "job");
    json_t *rows = json_array();
    status = usage_read_wish(&pool, &wish);
    if (!status && pool_option(&pool, "monthly"))
        status = usage_ask_monthly(&pool, &wish, rows);
    else if (!status)
        status = usage_ask(&pool, &wish, rows);
    pool_name_owners(rows);
    usage_add_efficiency(rows);
    if (!status && job)
        status = usage_keep_job(rows, job);
    if (!status)
        status = usage_print(&pool, wish.table, rows);
    json_decref(rows);
    pool_close(&pool);
    return status;
}
