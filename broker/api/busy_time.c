// SPDX-License-Identifier: BSD-3-Clause
#include "broker/api/busy_time.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum { EVERY_SECONDS = 60, COUNTS_MAX = 8192 };
#define MILLISECONDS_MAX (INT64_C(1) << 48)
#define COUNT_MAX (INT64_C(1) << 58) // bytes, and millijoules

static bool any_is_over(const json_t *list)
{
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
        if (json_is_true(json_object_get(entry, "over")))
            return true;
    return false;
}

static enum outcome store_entry(struct broker *broker, const struct pool_box *box,
                                const json_t *entry)
{
    const char *lease = json_string_value(json_object_get(entry, "lease"));
    json_int_t number = json_integer_value(json_object_get(entry, "count"));
    json_int_t milliseconds = json_integer_value(json_object_get(entry, "milliseconds"));
    json_int_t energy = json_integer_value(json_object_get(entry, "millijoules"));
    json_int_t in = json_integer_value(json_object_get(entry, "bytes_in"));
    json_int_t out = json_integer_value(json_object_get(entry, "bytes_out"));
    char name[POOL_NAME_MAX + 32];

    // Invalid counts count nothing.
    if (!lease || number < 0 || milliseconds < 0 || milliseconds > MILLISECONDS_MAX || in < 0 ||
        out < 0 || energy < 0 || in > COUNT_MAX || out > COUNT_MAX || energy > COUNT_MAX ||
        !(milliseconds || in || out || energy))
        return OUTCOME_DONE;
    snprintf(name, sizeof(name), "%s/%lld", box->instance, (long long)number);
    return store_count_busy(broker->store,
                            &(const struct busy_count){
                                .lease = lease,
                                .box = box->name,
                                .name = name,
                                .milliseconds = milliseconds,
                                .millijoules = energy,
                                .bytes_in = in,
                                .bytes_out = out,
                                .estimated = json_is_true(json_object_get(entry, "estimated")),
                                .now = clock_wall_seconds(),
                            });
}

static enum outcome busy_time_store_all(struct broker *broker, const struct pool_box *box,
                                        const json_t *list)
{
    enum outcome error = store_begin(broker->store);

    if (error)
        return error;
    for (size_t i = 0; !error && i < json_array_size(list) && i < COUNTS_MAX; i++)
        error = store_entry(broker, box, json_array_get(list, i));
    if (!error)
        return store_commit(broker->store);
    store_rollback(broker->store);
    return error;
}

bool busy_time_take(struct broker *broker, struct pool_box *box, const json_t *list)
{
    double now = clock_boot_seconds();
    bool over = any_is_over(list);

    if (json_array_size(list) == 0 || (!over && now < box->busy_stored + EVERY_SECONDS))
        return true;
    if (busy_time_store_all(broker, box, list)) {
        log_warn("gpu time of leases on box=%s is not kept now; the box says it again", box->name);
        return false;
    }
    box->busy_stored = now;
    return true;
}
