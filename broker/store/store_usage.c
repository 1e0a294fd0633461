// SPDX-License-Identifier: BSD-3-Clause
// Queries the use of the pool by leases: hours in which they held GPUs, and busy hours of these
// GPUs.
#include "broker/store/store.h"
#include "broker/store/store_run.h"

static double hours(sqlite3_stmt *row, const char *name, double parts)
{
    return (double)row_number(row, name) / parts / 3600;
}

static json_t *show_row(sqlite3_stmt *row, enum usage_by by)
{
    json_t *object =
        json_pack("{s:I, s:f, s:f, s:f, s:I, s:I, s:b, s:I}", "leases",
                  (json_int_t)row_number(row, "leases"), "gpu_hours", hours(row, "gpu_seconds", 1),
                  "memory_gib_hours", hours(row, "mib_seconds", 1024), "busy_gpu_hours",
                  hours(row, "busy", 1000), "bytes_in", (json_int_t)row_number(row, "bytes_in"),
                  "bytes_out", (json_int_t)row_number(row, "bytes_out"), "estimated",
                  (int)row_number(row, "estimated"), "waited_seconds",
                  (json_int_t)row_number(row, "waited"));

    if (by != USAGE_BY_ACCOUNT)
        json_object_set_new(object, "owner", json_integer(row_number(row, "owner")));
    if (by != USAGE_BY_OWNER)
        json_object_set_new(object, "account", json_string(row_text(row, "account")));
    if (by == USAGE_BY_LEASE) {
        json_object_set_new(object, "lease", json_string(row_text(row, "id")));
        json_object_set_new(object, "job", json_string(row_text(row, "job")));
    }
    return object;
}

json_t *store_usage(struct store *store, const struct usage_query *query)
{
    sqlite3_stmt *row = statement_query(store, USAGE, "nnnnn", query->from, query->to, query->now,
                                        query->owner, (int64_t)query->by);
    json_t *list = json_array();

    while (row_next(store, row))
        json_array_append_new(list, show_row(row, query->by));
    sqlite3_reset(row);
    return list;
}

enum outcome store_count_busy(struct store *store, const struct busy_count *count)
{
    enum outcome error = statement_run(store, ADD_BUSY_HOUR, "tttnnnnn", count->lease, count->box,
                                       count->name, count->milliseconds, count->now,
                                       count->bytes_in, count->bytes_out, count->millijoules);

    return error ? error
                 : statement_run(store, PUT_BUSY_COUNT, "tttnnnnn", count->lease, count->box,
                                 count->name, count->milliseconds, (int64_t)count->estimated,
                                 count->bytes_in, count->bytes_out, count->millijoules);
}

static struct busy_sum read_sum(sqlite3_stmt *row)
{
    return (struct busy_sum){row_text(row, "id"),         row_number(row, "owner"),
                             row_number(row, "busy"),     row_number(row, "millijoules"),
                             row_number(row, "bytes_in"), row_number(row, "bytes_out")};
}

void store_busy_of(struct store *store, const char *lease, store_busy_found *found, void *argument)
{
    sqlite3_stmt *row = statement_query(store, BUSY_OF_LEASE, "t", lease);

    if (row_next(store, row)) {
        const struct busy_sum sum = read_sum(row);
        found(argument, &sum);
    }
    sqlite3_reset(row);
}

void store_busy_of_live(struct store *store, size_t most, store_busy_found *found, void *argument)
{
    sqlite3_stmt *row = statement_query(store, BUSY_OF_LIVE, "n", (int64_t)most);

    while (row_next(store, row)) {
        const struct busy_sum sum = read_sum(row);
        found(argument, &sum);
    }
    sqlite3_reset(row);
}
