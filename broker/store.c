/* The broker's database. Beside this file and store_log.c nothing knows SQLite. */
#include "broker/store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "broker/migrations.h"
#include "broker/request.h"
#include "broker/statements.h"
#include "broker/store_log.h"
#include "common/fault.h"
#include "common/log.h"

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct store_log *log;
};

static int to_errno(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EUCLEAN;
    case SQLITE_CONSTRAINT:
        return -EEXIST;
    case SQLITE_NOMEM:
        return -ENOMEM;
    }
    return -EIO;
}

/* Why the last write to the log failed, which SQLite does not say where it is no plain ENOSPC. */
static int log_errno(struct store *store)
{
    sqlite3_file *file = NULL;
    int number = 0;

    sqlite3_file_control(store->database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (file && file->pMethods)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

/* Over a quota or a limit is as full as full. */
static int report(struct store *store, const char *what)
{
    int code = sqlite3_extended_errcode(store->database);
    int error = to_errno(code);

    int number = error == -EIO ? log_errno(store) : 0;

    if (number == ENOSPC || number == EFBIG || number == EDQUOT)
        error = -ENOSPC;
    log_error("database: %s: code=%d %s", what, code, sqlite3_errmsg(store->database));
    return error ? error : -EIO;
}

/* Binds by letter: t text (NULL allowed), n integer. */
static sqlite3_stmt *bind(struct store *store, enum statement number, const char *types,
                          va_list values)
{
    sqlite3_stmt *statement = store->statements[number];

    sqlite3_reset(statement);
    for (int i = 1; *types; types++, i++) {
        if (*types == 't')
            sqlite3_bind_text(statement, i, va_arg(values, const char *), -1, SQLITE_TRANSIENT);
        else
            sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
    }
    return statement;
}

static sqlite3_stmt *query(struct store *store, enum statement number, const char *types, ...)
{
    sqlite3_stmt *statement;
    va_list values;

    va_start(values, types);
    statement = bind(store, number, types, values);
    va_end(values);
    return statement;
}

/* Runs a statement that returns no rows. */
static int run(struct store *store, enum statement number, const char *types, ...)
{
    sqlite3_stmt *statement;
    va_list values;
    int code, error = 0;

    va_start(values, types);
    statement = bind(store, number, types, values);
    va_end(values);
    code = sqlite3_step(statement);
    if (code != SQLITE_DONE)
        error = report(store, statement_text[number]);
    sqlite3_reset(statement);
    return error;
}

static const char *text(sqlite3_stmt *row, int column)
{
    const char *value = (const char *)sqlite3_column_text(row, column);

    return value ? value : "";
}

static void copy_text(sqlite3_stmt *row, int column, char *out, size_t size)
{
    const char *value = text(row, column);
    size_t length = strnlen(value, size - 1);

    memcpy(out, value, length);
    out[length] = '\0';
}

/* ---- opening ---- */

static int execute(struct store *store, const char *sql)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                             : report(store, sql);
}

static int read_number(struct store *store, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement;
    int error = -EIO;

    if (sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL) != SQLITE_OK)
        return report(store, sql);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
        error = 0;
    } else {
        error = report(store, sql);
    }
    sqlite3_finalize(statement);
    return error;
}

static int check_integrity(struct store *store)
{
    sqlite3_stmt *statement;
    int error = -EUCLEAN;

    if (sqlite3_prepare_v2(store->database, "PRAGMA quick_check(1)", -1, &statement, NULL) !=
        SQLITE_OK)
        return report(store, "integrity check");
    if (sqlite3_step(statement) == SQLITE_ROW && !strcmp(text(statement, 0), "ok"))
        error = 0;
    else
        log_error("database: integrity check: %s", text(statement, 0));
    sqlite3_finalize(statement);
    return error;
}

/* Before foreign keys are in force: a step that makes a table anew would else empty those that
 * refer to it. */
static int migrate(struct store *store)
{
    int64_t count = sizeof(migrations) / sizeof(migrations[0]), version = 0;
    int error = read_number(store, "PRAGMA user_version", &version);

    if (error)
        return error;
    if (version > count) {
        log_error("database: schema=%lld is newer than this program's %lld",
                  (long long)version, (long long)count);
        return -EPROTO;
    }
    for (; !error && version < count; version++) {
        char set_version[64];

        snprintf(set_version, sizeof(set_version), "PRAGMA user_version = %lld",
                 (long long)version + 1);
        error = execute(store, "BEGIN IMMEDIATE");
        if (!error)
            error = execute(store, migrations[version]);
        if (!error)
            error = execute(store, set_version);
        fault_point("migrate.before_commit");
        if (!error)
            error = execute(store, "COMMIT");
        if (error)
            sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    }
    return error;
}

static int prepare_all(struct store *store)
{
    for (int i = 0; i < STATEMENT_COUNT; i++)
        if (sqlite3_prepare_v3(store->database, statement_text[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK)
            return report(store, statement_text[i]);
    return 0;
}

int store_open(const char *path, bool full_sync, struct store **out)
{
    struct store *store = calloc(1, sizeof(*store));
    int error;

    if (!store)
        return -ENOMEM;
    if (sqlite3_open_v2(path, &store->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        NULL) != SQLITE_OK) {
        error = report(store, path);
        goto close;
    }
    sqlite3_extended_result_codes(store->database, 1);
    sqlite3_busy_timeout(store->database, 500);
    error = execute(store, "PRAGMA journal_mode = WAL");
    if (!error)
        error = execute(store, "PRAGMA synchronous = NORMAL"); /* store_log.c syncs commits */
    if (!error)
        error = check_integrity(store);
    if (!error)
        error = migrate(store);
    if (!error)
        error = execute(store, "PRAGMA foreign_keys = ON");
    if (!error)
        error = prepare_all(store);
    if (!error)
        error = store_log_open(path, store->database, full_sync, &store->log);
    if (error)
        goto close;
    *out = store;
    return 0;
close:
    store_close(&store);
    return error;
}

void store_close(struct store **store)
{
    if (!*store)
        return;
    store_log_close(&(*store)->log);
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize((*store)->statements[i]);
    sqlite3_close((*store)->database);
    free(*store);
    *store = NULL;
}

int store_begin(struct store *store)
{
    return run(store, BEGIN, "");
}

int store_commit(struct store *store)
{
    int error = fault_point("store.before_commit");

    if (!error)
        error = run(store, COMMIT, "");
    if (error)
        store_rollback(store);
    else
        fault_point("store.after_commit");
    return error;
}

uint64_t store_committed(struct store *store)
{
    return store_log_committed(store->log);
}

uint64_t store_durable(struct store *store)
{
    return store_log_durable(store->log);
}

int store_durable_fd(const struct store *store)
{
    return store_log_fd(store->log);
}

void store_await_durable(struct store *store)
{
    store_log_await(store->log);
}

void store_rollback(struct store *store)
{
    if (!sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- loading ---- */

static int load_boxes(struct store *store, struct pool *pool)
{
    sqlite3_stmt *row = query(store, LOAD_BOXES, "");
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct pool_box *box = pool_add_box(pool, text(row, 0));
        if (!box)
            return -ENOMEM;
        copy_text(row, 1, box->addresses, sizeof(box->addresses));
        copy_text(row, 2, box->locality, sizeof(box->locality));
        copy_text(row, 3, box->transports, sizeof(box->transports));
        copy_text(row, 4, box->version, sizeof(box->version));
        copy_text(row, 5, box->instance, sizeof(box->instance));
        box->drained = sqlite3_column_int(row, 6);
        box->seen = sqlite3_column_int64(row, 7);
    }
    return code == SQLITE_DONE ? 0 : report(store, "loading boxes");
}

static int load_gpus(struct store *store, struct pool *pool)
{
    sqlite3_stmt *row = query(store, LOAD_GPUS, "");
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct pool_gpu *gpu = pool_add_gpu(pool, text(row, 0));
        struct pool_box *box = pool_find_box(pool, text(row, 1));
        if (!gpu || !box)
            return gpu ? -EUCLEAN : -ENOMEM;
        gpu->index = (uint32_t)sqlite3_column_int64(row, 2);
        gpu->model = pool_intern_model(pool, text(row, 3));
        gpu->memory = (uint64_t)sqlite3_column_int64(row, 4);
        gpu->reserved = (uint64_t)sqlite3_column_int64(row, 5);
        gpu->context = (uint64_t)sqlite3_column_int64(row, 6);
        gpu->mode = (enum gpu_mode)pool_parse_name(gpu_mode_names, text(row, 7));
        gpu->drained = sqlite3_column_int(row, 8);
        gpu->present = sqlite3_column_int(row, 9);
        gpu->automatic = sqlite3_column_int(row, 10);
        if (pool_place_gpu(gpu, box) < 0)
            return -EUCLEAN;
    }
    return code == SQLITE_DONE ? 0 : report(store, "loading gpus");
}

static int load_holds(struct store *store, struct pool *pool, struct pool_lease *lease)
{
    sqlite3_stmt *row = query(store, LOAD_HOLDS, "t", lease->id);
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct pool_hold *holds = realloc(lease->holds, (lease->hold_count + 1) * sizeof(*holds));
        struct pool_hold *hold;
        if (!holds)
            return -ENOMEM;
        lease->holds = holds;
        hold = &holds[lease->hold_count];
        *hold = (struct pool_hold){
            .gpu = pool_find_gpu(pool, text(row, 0)),
            .box = pool_find_box(pool, text(row, 1)),
            .ordinal = (uint32_t)sqlite3_column_int64(row, 2),
            .mode = (enum gpu_mode)pool_parse_name(gpu_mode_names, text(row, 3)),
            .memory = (uint64_t)sqlite3_column_int64(row, 4),
            .context = (uint64_t)sqlite3_column_int64(row, 5),
        };
        if (!sqlite3_column_int(row, 6) && (!hold->gpu || !hold->box))
            continue; /* given back, and its box removed since */
        if (!hold->gpu || !hold->box) {
            log_error("database: lease=%s holds an unknown gpu=%s box=%s", lease->id, text(row, 0),
                      text(row, 1));
            return -EUCLEAN;
        }
        lease->hold_count++;
        if (sqlite3_column_int(row, 6))
            pool_take(hold);
    }
    return code == SQLITE_DONE ? 0 : report(store, "loading holds");
}

static char *optional_text(sqlite3_stmt *row, int column)
{
    return *text(row, column) ? strdup(text(row, column)) : NULL;
}

static struct pool_lease *read_lease(sqlite3_stmt *row)
{
    struct pool_lease *lease = lease_new();

    if (!lease)
        return NULL;
    copy_text(row, 0, lease->id, sizeof(lease->id));
    lease->key = optional_text(row, 1);
    lease->owner = (uid_t)sqlite3_column_int64(row, 2);
    lease->job = optional_text(row, 3);
    lease->state = (enum lease_state)pool_parse_name(lease_state_names, text(row, 4));
    lease->lifetime = sqlite3_column_int64(row, 6);
    lease->created = sqlite3_column_int64(row, 7);
    lease->granted = sqlite3_column_int64(row, 8);
    lease->expires = sqlite3_column_int64(row, 9);
    lease->ticket_until = sqlite3_column_int64(row, 11);
    lease->sequence = (uint64_t)sqlite3_column_int64(row, 12);
    lease->reason = optional_text(row, 13);
    lease->key_owner = sqlite3_column_int64(row, 14);
    lease->epoch = sqlite3_column_int64(row, 15);
    if (request_from_text(text(row, 5), &lease->request) < 0)
        lease_free(&lease);
    return lease;
}

static int load_leases(struct store *store, struct pool *pool)
{
    sqlite3_stmt *row = query(store, LOAD_LEASES, "");
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct pool_lease *lease = read_lease(row);
        int error;
        if (!lease) {
            log_error("database: lease=%s cannot be read", text(row, 0));
            return -EUCLEAN;
        }
        error = pool_add_lease(pool, lease);
        if (!error)
            error = load_holds(store, pool, lease);
        if (error)
            return error;
    }
    return code == SQLITE_DONE ? 0 : report(store, "loading leases");
}

int store_load(struct store *store, struct pool *pool)
{
    int error = load_boxes(store, pool);

    if (!error)
        error = load_gpus(store, pool);
    if (!error)
        error = load_leases(store, pool);
    return error;
}

static int64_t query_number(struct store *store, enum statement number)
{
    sqlite3_stmt *row = query(store, number, "");
    int64_t value = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;

    sqlite3_reset(row);
    return value;
}

uint64_t store_last_sequence(struct store *store)
{
    return (uint64_t)query_number(store, LAST_SEQUENCE);
}

int64_t store_last_event(struct store *store)
{
    return query_number(store, LAST_EVENT);
}

/* ---- history ---- */

int64_t store_epoch(struct store *store)
{
    return query_number(store, EPOCH);
}

int store_add_epoch(struct store *store, int64_t epoch, int64_t now)
{
    return run(store, ADD_EPOCH, "nn", epoch, now);
}

int store_add_run(struct store *store, const char *id, int64_t after_event, int64_t now)
{
    return run(store, ADD_RUN, "tnn", id, after_event, now);
}

int store_end_of_run(struct store *store, const char *id, int64_t *event)
{
    sqlite3_stmt *row = query(store, END_OF_RUN, "t", id);
    int error = sqlite3_step(row) == SQLITE_ROW ? 0 : -ENOENT;

    if (!error)
        *event = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    return error;
}

/* ---- changes ---- */

int store_add_event(struct store *store, int64_t now, const struct store_event *event)
{
    char *detail = event->detail ? json_dumps(event->detail, JSON_COMPACT) : NULL;
    int error = run(store, ADD_EVENT, "nttttt" "t", now, event->kind, event->box, event->gpu,
                    event->lease, event->actor, detail ? detail : "{}");

    free(detail);
    return error;
}

int store_put_box(struct store *store, const struct pool_box *box, int64_t now)
{
    return run(store, PUT_BOX, "ttttttnn", box->name, box->addresses, box->locality,
               box->transports, box->version, box->instance, (int64_t)box->drained, now);
}

int store_put_gpu(struct store *store, const struct pool_gpu *gpu, const char *box)
{
    return run(store, PUT_GPU, "ttntnnntn", gpu->uuid, box, (int64_t)gpu->index, gpu->model,
               (int64_t)gpu->memory, (int64_t)gpu->reserved, (int64_t)gpu->context,
               gpu_mode_names[gpu->mode], (int64_t)gpu->automatic);
}

int store_delete_box(struct store *store, const char *name)
{
    return run(store, DELETE_BOX, "t", name);
}

int store_set_box_drained(struct store *store, const char *box, bool drained)
{
    return run(store, BOX_DRAINED, "tn", box, (int64_t)drained);
}

int store_set_gpu_drained(struct store *store, const char *uuid, bool drained)
{
    return run(store, GPU_DRAINED, "tn", uuid, (int64_t)drained);
}

int store_set_gpu_mode(struct store *store, const char *uuid, enum gpu_mode mode, bool automatic)
{
    return run(store, GPU_MODE, "ttn", uuid, gpu_mode_names[mode], (int64_t)automatic);
}

int store_set_gpu_present(struct store *store, const char *uuid, bool present)
{
    return run(store, GPU_PRESENT, "tn", uuid, (int64_t)present);
}

int store_insert_lease(struct store *store, const struct pool_lease *lease, int64_t now)
{
    char *request = request_to_text(&lease->request);
    int error = -ENOMEM;

    if (request)
        error = run(store, INSERT_LEASE, "ttntttnnnnnnntnn", lease->id, lease->key,
                    (int64_t)lease->owner, lease->job ? lease->job : "",
                    lease_state_names[lease->state], request, lease->lifetime, lease->created,
                    lease->granted, lease->expires, lease->state == LEASE_ENDED ? now : (int64_t)0,
                    lease->ticket_until, (int64_t)lease->sequence,
                    lease->reason ? lease->reason : "", lease->key_owner, lease->epoch);
    free(request);
    return error;
}

int store_update_lease(struct store *store, const struct pool_lease *lease,
                       enum lease_state state, const char *reason, int64_t now)
{
    return run(store, UPDATE_LEASE, "ttnnnnt", lease->id, lease_state_names[state],
               lease->granted, lease->expires, state == LEASE_ENDED ? now : (int64_t)0,
               lease->ticket_until, reason ? reason : "");
}

int store_insert_hold(struct store *store, const char *lease, const struct pool_hold *hold)
{
    return run(store, INSERT_HOLD, "tnttt" "nn", lease, (int64_t)hold->ordinal, hold->gpu->uuid,
               hold->box->name, gpu_mode_names[hold->mode], (int64_t)hold->memory,
               (int64_t)hold->context);
}

int store_release_hold(struct store *store, const char *lease, uint32_t ordinal)
{
    return run(store, RELEASE_HOLD, "tn", lease, (int64_t)ordinal);
}

int store_shift_expiry(struct store *store, int64_t seconds)
{
    return run(store, SHIFT_EXPIRY, "n", seconds);
}

int store_probe(struct store *store, int64_t now)
{
    int error = store_begin(store);

    if (error)
        return error;
    error = run(store, PROBE, "n", now);
    if (!error)
        return store_commit(store);
    store_rollback(store);
    return error;
}

int store_trim(struct store *store, int64_t before, uint64_t keep)
{
    int error = run(store, TRIM_LEASES, "n", before);

    return error ? error : run(store, TRIM_EVENTS, "n", (int64_t)keep);
}

/* ---- reading ended leases and events ---- */

static void set_optional(json_t *object, const char *name, sqlite3_stmt *row, int column)
{
    const char *value = text(row, column);

    if (*value)
        json_object_set_new(object, name, json_string(value));
}

static json_t *ended_holds(struct store *store, const char *lease)
{
    sqlite3_stmt *row = query(store, ENDED_HOLDS, "t", lease);
    json_t *list = json_array();

    while (sqlite3_step(row) == SQLITE_ROW)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:s, s:I}", "gpu", text(row, 0),
                                              "box", text(row, 1), "ordinal",
                                              (json_int_t)sqlite3_column_int64(row, 2), "mode",
                                              text(row, 3), "memory",
                                              (json_int_t)sqlite3_column_int64(row, 4)));
    sqlite3_reset(row);
    return list;
}

static json_t *ended_to_json(struct store *store, sqlite3_stmt *row)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "id", text(row, 0), "state",
        text(row, 4), "owner", (json_int_t)sqlite3_column_int64(row, 2), "created",
        (json_int_t)sqlite3_column_int64(row, 7), "granted",
        (json_int_t)sqlite3_column_int64(row, 8), "ended",
        (json_int_t)sqlite3_column_int64(row, 10), "job", text(row, 3), "request",
        json_loads(text(row, 5), 0, NULL), "gpus", ended_holds(store, text(row, 0)));

    if (*text(row, 1))
        json_object_set_new(object, "key_owner", json_integer(sqlite3_column_int64(row, 14)));
    set_optional(object, "key", row, 1);
    set_optional(object, "reason", row, 13);
    return object;
}

static json_t *take_ended(struct store *store, sqlite3_stmt *row)
{
    json_t *object = sqlite3_step(row) == SQLITE_ROW ? ended_to_json(store, row) : NULL;

    sqlite3_reset(row);
    return object;
}

json_t *store_ended_lease(struct store *store, const char *id)
{
    return take_ended(store, query(store, ENDED_BY_ID, "t", id));
}

json_t *store_ended_key(struct store *store, int64_t key_owner, const char *key)
{
    return take_ended(store, query(store, ENDED_BY_KEY, "tn", key, key_owner));
}

json_t *store_ended_leases(struct store *store, int64_t owner, size_t limit)
{
    sqlite3_stmt *row = query(store, ENDED_LIST, "nn", owner, (int64_t)limit);
    json_t *list = json_array();

    while (sqlite3_step(row) == SQLITE_ROW)
        json_array_append_new(list, ended_to_json(store, row));
    sqlite3_reset(row);
    return list;
}

static json_t *revocation_to_json(sqlite3_stmt *row)
{
    json_t *object = json_pack("{s:s}", "lease", text(row, 0));

    if (sqlite3_column_type(row, 1) != SQLITE_NULL)
        json_object_set_new(object, "until", json_integer(sqlite3_column_int64(row, 1)));
    return object;
}

json_t *store_revocations(struct store *store, const char *box, int64_t oldest, int64_t epoch,
                          int64_t ended_after)
{
    sqlite3_stmt *row = query(store, REVOCATIONS, "tnnn", box, oldest, epoch, ended_after);
    json_t *list = json_array();

    while (sqlite3_step(row) == SQLITE_ROW)
        json_array_append_new(list, revocation_to_json(row));
    sqlite3_reset(row);
    return list;
}

json_t *store_events(struct store *store, int64_t after, size_t limit, int64_t owner)
{
    sqlite3_stmt *row = query(store, EVENTS, "nnn", after, (int64_t)limit, owner);
    json_t *list = json_array();

    while (sqlite3_step(row) == SQLITE_ROW) {
        json_t *event = json_pack("{s:I, s:I, s:s, s:s}", "sequence",
                                  (json_int_t)sqlite3_column_int64(row, 0), "time",
                                  (json_int_t)sqlite3_column_int64(row, 1), "kind", text(row, 2),
                                  "actor", text(row, 6));
        set_optional(event, "box", row, 3);
        set_optional(event, "gpu", row, 4);
        set_optional(event, "lease", row, 5);
        json_object_set_new(event, "detail", json_loads(text(row, 7), 0, NULL));
        json_array_append_new(list, event);
    }
    sqlite3_reset(row);
    return list;
}
