// SPDX-License-Identifier: BSD-3-Clause
// Transactions, loading of the pool, and the functions that write changes.
#include "broker/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/request.h"
#include "broker/store/store_run.h"
#include "broker/store/store_sound.h"
#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/base/scope.h"

// ---- transactions ----

enum outcome store_begin(struct store *store)
{
    enum outcome error = statement_run(store, BEGIN, "");

    if (!error)
        store_changes_begin(store->changes, store->database);
    return error;
}

enum outcome store_commit(struct store *store)
{
    enum outcome error = store->read_error;

    if (!error)
        error = outcome_of(fault_point("store.before_commit"));
    if (!error)
        error = store_changes_end(store->changes, store->database);
    if (!error)
        error = statement_run(store, COMMIT, "");
    if (error)
        store_rollback(store);
    else
        fault_point("store.after_commit");
    return error;
}

uint64_t store_committed(struct store *store)
{
    return store ? store_log_committed(store->log) : 0;
}

uint64_t store_durable(struct store *store)
{
    return store ? store_log_durable(store->log) : 0;
}

int store_durable_fd(const struct store *store)
{
    return store ? store_log_fd(store->log) : -1;
}

void store_await_durable(struct store *store)
{
    if (store)
        store_log_await(store->log);
}

void store_rollback(struct store *store)
{
    store_changes_drop(store->changes);
    if (!sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

enum outcome store_take_read_error(struct store *store)
{
    enum outcome error = store ? store->read_error : OUTCOME_DONE;

    if (store)
        store->read_error = OUTCOME_DONE;
    return error;
}

// ---- loading ----

static enum outcome load_boxes(struct store *store, struct pool *pool)
{
    sqlite3_stmt *row = statement_query(store, LOAD_BOXES, "");
    enum outcome error;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct pool_box *box = pool_add_box(pool, row_text(row, "name"));
        error = box ? row_read(row, box_columns, pool, box) : OUTCOME_NO_MEMORY;
        if (error)
            return error;
    }
    return code == SQLITE_DONE ? OUTCOME_DONE : store_report(store, "loading boxes");
}

static enum outcome load_gpus(struct store *store, struct pool *pool)
{
    sqlite3_stmt *row = statement_query(store, LOAD_GPUS, "");
    enum outcome error;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct pool_gpu *gpu = pool_add_gpu(pool, row_text(row, "uuid"));
        struct pool_box *box;

        error = gpu ? row_read(row, gpu_columns, pool, gpu) : OUTCOME_NO_MEMORY;
        if (error)
            return error;
        box = gpu->box;
        gpu->box = NULL;
        if (!box || pool_place_gpu(gpu, box) < 0)
            return OUTCOME_DATABASE_DAMAGED;
    }
    return code == SQLITE_DONE ? OUTCOME_DONE : store_report(store, "loading gpus");
}

// Adds a hold. A hold that was given back is skipped if its GPU or box has been removed since.
static enum outcome store_add_hold(sqlite3_stmt *row, struct pool *pool, struct pool_lease *lease)
{
    struct pool_hold *holds = realloc(lease->holds, (lease->hold_count + 1) * sizeof(*holds));
    struct pool_hold *hold;
    bool held;
    enum outcome error;

    if (!holds)
        return OUTCOME_NO_MEMORY;
    lease->holds = holds;
    hold = &holds[lease->hold_count];
    memset(hold, 0, sizeof(*hold));
    error = row_read(row, hold_columns, pool, hold);
    if (error)
        return error;
    held = hold->held;
    hold->held = false;
    if (!hold->gpu || !hold->box) {
        if (held)
            log_error("database: lease=%s holds an unknown gpu=%s box=%s", lease->id,
                      row_text(row, "gpu"), row_text(row, "box"));
        return held ? OUTCOME_DATABASE_DAMAGED : OUTCOME_DONE;
    }
    hold->tenant = lease->request.tenant;
    hold->compute = lease->request.compute;
    lease->hold_count++;
    struct pool_gpu *target = hold->target;
    hold->target = NULL;
    if (held)
        pool_take(hold);
    if (held && target)
        pool_reserve(hold, target);
    if (!held)
        hold->aside = lease->suspension != LEASE_HERE;
    return OUTCOME_DONE;
}

static enum outcome load_holds(struct store *store, struct pool *pool, struct pool_lease *lease)
{
    sqlite3_stmt *row = statement_query(store, HOLDS, "t", lease->id);
    enum outcome error;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        error = store_add_hold(row, pool, lease);
        if (error)
            return error;
    }
    return code == SQLITE_DONE ? OUTCOME_DONE : store_report(store, "loading holds");
}

static enum outcome load_lease(struct store *store, sqlite3_stmt *row, struct pool *pool)
{
    struct pool_lease *lease = lease_new();
    enum outcome error = lease ? row_read(row, lease_columns, pool, lease) : OUTCOME_NO_MEMORY;

    if (error) {
        log_error("database: lease=%s cannot be read", row_text(row, "id"));
        lease_free(&lease);
        return error == OUTCOME_NO_MEMORY ? error : OUTCOME_DATABASE_DAMAGED;
    }
    request_set_tenant(&lease->request, lease->owner);
    error = outcome_of(pool_add_lease(pool, lease));
    if (!error)
        error = load_holds(store, pool, lease);
    if (!error)
        pool_note_displaced(pool, lease);
    return error;
}

static enum outcome load_leases(struct store *store, struct pool *pool)
{
    sqlite3_stmt *row = statement_query(store, LOAD_LEASES, "");
    enum outcome error;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        error = load_lease(store, row, pool);
        if (error)
            return error;
    }
    return code == SQLITE_DONE ? OUTCOME_DONE : store_report(store, "loading leases");
}

// Later queries read a few rows at a time.
static void shrink_cache(struct store *store)
{
    sqlite3_exec(store->database, "PRAGMA cache_size = -2000", NULL, NULL, NULL);
    sqlite3_db_release_memory(store->database);
}

enum outcome store_load(struct store *store, struct pool *pool)
{
    enum outcome error = load_boxes(store, pool), sound;

    if (!error)
        error = load_gpus(store, pool);
    if (!error)
        error = load_leases(store, pool);
    sound = store_sound_end(&store->sound);
    shrink_cache(store);
    return error ? error : sound;
}

static int64_t store_first_number(struct store *store, sqlite3_stmt *row)
{
    int64_t value = row_next(store, row) ? sqlite3_column_int64(row, 0) : 0;

    sqlite3_reset(row);
    return value;
}

int64_t store_last_event(struct store *store)
{
    return store_first_number(store, statement_query(store, LAST_EVENT, ""));
}

// ---- history ----

int64_t store_epoch(struct store *store)
{
    return store_first_number(store, statement_query(store, EPOCH, ""));
}

int64_t store_epoch_at(struct store *store, int64_t time)
{
    return store_first_number(store, statement_query(store, EPOCH_AT, "n", time));
}

enum outcome store_add_epoch(struct store *store, int64_t epoch, int64_t now)
{
    return statement_run(store, ADD_EPOCH, "nn", epoch, now);
}

enum outcome store_add_run(struct store *store, const char *id, int64_t after_event, int64_t now)
{
    return statement_run(store, ADD_RUN, "tnn", id, after_event, now);
}

enum outcome store_end_of_run(struct store *store, const char *id, int64_t *event)
{
    sqlite3_stmt *row = statement_query(store, END_OF_RUN, "t", id);
    enum outcome error = row_next(store, row) ? OUTCOME_DONE : OUTCOME_NOT_FOUND;

    if (!error)
        *event = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    return error;
}

// ---- changes ----

enum outcome store_add_event(struct store *store, int64_t now, const struct store_event *event)
{
    SCOPED_FREE char *detail = event->detail ? json_dumps(event->detail, JSON_COMPACT) : NULL;

    return statement_run(store, ADD_EVENT,
                         "nttttt"
                         "t",
                         now, event->kind, event->box, event->gpu, event->lease, event->actor,
                         detail ? detail : "{}");
}

enum outcome store_put_box(struct store *store, const struct pool_box *box)
{
    return statement_run_with(store, PUT_BOX, box, NULL);
}

enum outcome store_put_gpu(struct store *store, const struct pool_gpu *gpu)
{
    return statement_run_with(store, PUT_GPU, gpu, NULL);
}

enum outcome store_delete_gpu(struct store *store, const char *uuid)
{
    return statement_run(store, DELETE_GPU, "t", uuid);
}

enum outcome store_delete_box(struct store *store, const char *name)
{
    return statement_run(store, DELETE_BOX, "t", name);
}

enum outcome store_set_box_drained(struct store *store, const struct pool_box *box)
{
    return statement_run_with(store, BOX_DRAINED, box, NULL);
}

enum outcome store_set_gpu_drained(struct store *store, const struct pool_gpu *gpu)
{
    return statement_run_with(store, GPU_DRAINED, gpu, NULL);
}

enum outcome store_set_gpu_mode(struct store *store, const char *uuid, enum gpu_mode mode,
                                bool automatic)
{
    return statement_run(store, GPU_MODE, "ttn", uuid, gpu_mode_names[mode], (int64_t)automatic);
}

enum outcome store_set_gpu_present(struct store *store, const char *uuid, bool present)
{
    return statement_run(store, GPU_PRESENT, "tn", uuid, (int64_t)present);
}

enum outcome store_insert_lease(struct store *store, const struct pool_lease *lease)
{
    return statement_run_with(store, INSERT_LEASE, lease, NULL);
}

enum outcome store_update_lease(struct store *store, const struct pool_lease *lease,
                                enum lease_state state, const char *reason, int64_t now)
{
    struct pool_lease changed = *lease;

    changed.state = state;
    changed.reason = (char *)reason;
    changed.ended = state == LEASE_ENDED ? now : 0;
    return statement_run_with(store, UPDATE_LEASE, &changed, NULL);
}

enum outcome store_insert_hold(struct store *store, const char *lease, const struct pool_hold *hold)
{
    struct pool_hold row = *hold;

    row.held = true;
    return statement_run_with(store, INSERT_HOLD, &row, lease);
}

enum outcome store_put_hold(struct store *store, const char *lease, const struct pool_hold *hold)
{
    return statement_run_with(store, PUT_HOLD, hold, lease);
}

enum outcome store_retake_hold(struct store *store, const char *lease, const struct pool_hold *hold)
{
    struct pool_hold row = *hold;

    row.held = true;
    return store_put_hold(store, lease, &row);
}

enum outcome store_set_target(struct store *store, const char *lease, const struct pool_hold *hold)
{
    return statement_run(store, TARGET_HOLD, "tnt", lease, (int64_t)hold->ordinal,
                         hold->target ? hold->target->uuid : "");
}

enum outcome store_release_hold(struct store *store, const char *lease, uint32_t ordinal)
{
    return statement_run(store, RELEASE_HOLD, "tn", lease, (int64_t)ordinal);
}

enum outcome store_shift_expiry(struct store *store, int64_t seconds)
{
    return statement_run(store, SHIFT_EXPIRY, "n", seconds);
}

enum outcome store_probe(struct store *store, int64_t now)
{
    enum outcome error = store_begin(store);

    if (error)
        return error;
    error = statement_run(store, PROBE, "n", now);
    if (!error)
        return store_commit(store);
    store_rollback(store);
    return error;
}

enum outcome store_trim(struct store *store, int64_t before, uint64_t keep)
{
    enum outcome error = OUTCOME_DONE;

    for (int i = KEEP_USAGE; !error && i <= TRIM_USAGE; i++)
        error = statement_run(store, (enum statement)i, "n", before);
    for (int i = TRIM_REPEATED_EVENTS; !error && i <= TRIM_OTHER_EVENTS; i++)
        error = statement_run(store, (enum statement)i, "n", (int64_t)keep);
    return error;
}
