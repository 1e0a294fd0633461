// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl usage: the users' use of the pool.
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin-cli/output/conversation.h"
#include "admin-cli/output/table_wish.h"
#include "common/base/units.h"

#define USAGE_COLUMNS \
    {"LEASES", "leases", TABLE_TEXT}, {"GPU-HOURS", "gpu_hours", TABLE_DECIMAL}, \
        {"BUSY-HOURS", "busy_gpu_hours", TABLE_DECIMAL}, \
        {"EFFICIENCY%", "efficiency", TABLE_NUMBER}, \
        {"GIB-HOURS", "memory_gib_hours", TABLE_DECIMAL}, \
        {"WAITED", "waited_seconds", TABLE_SECONDS}, \
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

// The part of the GPUs' time for which they were busy, in percent. Unknown without such a time.
static void usage_add_efficiency(json_t *rows)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) {
        double held = json_number_value(json_object_get(row, "gpu_hours"));
        double busy = json_number_value(json_object_get(row, "busy_gpu_hours"));
        if (held > 0)
            json_object_set_new(row, "efficiency",
                                json_integer(busy < held ? (json_int_t)(100 * busy / held + 0.5)
                                                         : 100));
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

int pool_usage(const struct command *command, int argc, char **argv)
{
    struct conversation pool;
    json_t *answer;
    long long uid = -1;
    time_t from = 0, to = 0;
    char path[192];
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    const char *job = pool_option(&pool, "job");
    const struct usage_table *table = usage_find_table(job ? "lease" : pool_option(&pool, "by"));
    status = read_time(pool_option(&pool, "from"), time(NULL) - 7 * 86400, &from);
    if (!status)
        status = read_time(pool_option(&pool, "to"), time(NULL) + 1, &to);
    if (!status)
        status = usage_read_user(pool_option(&pool, "user"), &uid);
    snprintf(path, sizeof(path), "/v1/usage?from=%lld&to=%lld&owner=%lld&by=%s", (long long)from,
             (long long)to, uid, table->by);
    if (!status)
        status = pool_call(&pool, "GET", path, NULL, &answer);
    if (!status) {
        json_t *rows = json_object_get(answer, table->list);
        pool_name_owners(rows);
        usage_add_efficiency(rows);
        status = job ? usage_keep_job(rows, job) : 0;
        if (!status)
            status = pool_print(&pool, answer, table->list, table->columns);
        json_decref(answer);
    }
    pool_close(&pool);
    return status;
}
