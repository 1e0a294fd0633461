// SPDX-License-Identifier: BSD-3-Clause
// Queries records that are not in memory: ended leases, and events.
#include "broker/store/store.h"
#include "broker/store/store_run.h"

static json_t *show_holds(struct store *store, const char *lease)
{
    sqlite3_stmt *row = statement_query(store, HOLDS, "t", lease);
    json_t *list = json_array();

    while (row_next(store, row))
        json_array_append_new(list, row_show(row, hold_columns, COLUMN_SHOWN_ENDED));
    sqlite3_reset(row);
    return list;
}

static json_t *store_past_show_lease(struct store *store, sqlite3_stmt *row)
{
    json_t *object = row_show(row, lease_columns, COLUMN_SHOWN_ENDED);

    json_object_set_new(object, "gpus", show_holds(store, row_text(row, "id")));
    return object;
}

static json_t *take_ended(struct store *store, sqlite3_stmt *row)
{
    json_t *object = row_next(store, row) ? store_past_show_lease(store, row) : NULL;

    sqlite3_reset(row);
    return object;
}

json_t *store_ended_lease(struct store *store, const char *id)
{
    return take_ended(store, statement_query(store, ENDED_BY_ID, "t", id));
}

json_t *store_ended_key(struct store *store, int64_t key_owner, const char *key)
{
    return take_ended(store, statement_query(store, ENDED_BY_KEY, "tn", key, key_owner));
}

json_t *store_ended_leases(struct store *store, int64_t owner, size_t limit)
{
    sqlite3_stmt *row = statement_query(store, ENDED_LIST, "nn", owner, (int64_t)limit);
    json_t *list = json_array();

    while (row_next(store, row))
        json_array_append_new(list, store_past_show_lease(store, row));
    sqlite3_reset(row);
    return list;
}

static json_t *revocation_to_json(sqlite3_stmt *row)
{
    json_t *object = json_pack("{s:s}", "lease", row_text(row, "lease"));

    if (row_has(row, "until"))
        json_object_set_new(object, "until", json_integer(row_number(row, "until")));
    return object;
}

json_t *store_revocations(struct store *store, const char *box, int64_t oldest, int64_t epoch,
                          int64_t ended_after)
{
    sqlite3_stmt *row =
        statement_query(store, REVOCATIONS, "tnnn", box, oldest, epoch, ended_after);
    json_t *list = json_array();

    while (row_next(store, row))
        json_array_append_new(list, revocation_to_json(row));
    sqlite3_reset(row);
    return list;
}

static json_t *show_event(sqlite3_stmt *row)
{
    static const char *const about[] = {"box", "gpu", "lease"};
    json_t *event = json_pack("{s:I, s:I, s:s, s:s, s:o}", "sequence",
                              (json_int_t)row_number(row, "sequence"), "time",
                              (json_int_t)row_number(row, "time"), "kind", row_text(row, "kind"),
                              "actor", row_text(row, "actor"), "detail",
                              json_loads(row_text(row, "detail"), 0, NULL));

    for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++)
        if (row_has(row, about[i]))
            json_object_set_new(event, about[i], json_string(row_text(row, about[i])));
    return event;
}

static json_t *show_events(struct store *store, sqlite3_stmt *row)
{
    json_t *list = json_array();

    while (row_next(store, row))
        json_array_append_new(list, show_event(row));
    sqlite3_reset(row);
    return list;
}

json_t *store_events(struct store *store, int64_t after, size_t limit)
{
    return show_events(store, statement_query(store, EVENTS, "nn", after, (int64_t)limit));
}

json_t *store_scheduler_events(struct store *store, size_t limit)
{
    return show_events(store, statement_query(store, SCHEDULER_EVENTS, "n", (int64_t)limit));
}

json_t *store_events_about(struct store *store, const char *lease, const char *box, size_t limit)
{
    return show_events(store,
                       statement_query(store, EVENTS_ABOUT, "ttn", lease, box, (int64_t)limit));
}
