// SPDX-License-Identifier: BSD-3-Clause
// Opens the database: checks it, updates its schema and prepares the statements.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/migrations.h"
#include "broker/store/store.h"
#include "broker/store/store_run.h"
#include "broker/store/store_sound.h"
#include "common/base/fault.h"
#include "common/base/log.h"

static enum outcome store_open_execute(struct store *store, const char *sql)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? OUTCOME_DONE
               : store_report(store, sql);
}

static enum outcome store_open_read_number(struct store *store, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement;
    enum outcome error = OUTCOME_FAILED;

    if (sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL) != SQLITE_OK)
        return store_report(store, sql);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
        error = OUTCOME_DONE;
    } else {
        error = store_report(store, sql);
    }
    sqlite3_finalize(statement);
    return error;
}

int64_t store_schema(void)
{
    return sizeof(migrations) / sizeof(migrations[0]);
}

// Migrates before foreign keys are enforced, because a step that recreates a table would otherwise
// empty the tables that refer to it.
static enum outcome migrate(struct store *store)
{
    int64_t count = store_schema(), version = 0;
    enum outcome error = store_open_read_number(store, "PRAGMA user_version", &version);

    if (error)
        return error;
    if (version < count)
        error = store_sound_end(&store->sound);
    if (version > count) {
        log_error("database: schema=%lld is newer than this program's %lld", (long long)version,
                  (long long)count);
        return OUTCOME_FAILED;
    }
    for (; !error && version < count; version++) {
        char set_version[64];

        snprintf(set_version, sizeof(set_version), "PRAGMA user_version = %lld",
                 (long long)version + 1);
        error = store_open_execute(store, "BEGIN IMMEDIATE");
        if (!error)
            error = store_open_execute(store, migrations[version]);
        if (!error)
            error = store_open_execute(store, set_version);
        fault_point("migrate.before_commit");
        if (!error)
            error = store_open_execute(store, "COMMIT");
        if (error)
            sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    }
    return error;
}

// The pool is read in no order of pages.
#define CACHE_TO_LOAD "PRAGMA cache_size = -65536"

enum outcome store_open(const char *path, bool full_sync, struct replication *replication,
                        struct store **out)
{
    struct store *store = calloc(1, sizeof(*store));
    enum outcome error;

    if (!store)
        return OUTCOME_NO_MEMORY;
    // Unused statistics of memory would be one lock for all threads.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    // One thread uses the connection.
    if (sqlite3_open_v2(path, &store->database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        error = store_report(store, path);
        goto close;
    }
    sqlite3_extended_result_codes(store->database, 1);
    sqlite3_busy_timeout(store->database, 500);
    error = store_open_execute(store, "PRAGMA journal_mode = WAL");
    if (!error)
        error =
            store_open_execute(store, "PRAGMA synchronous = NORMAL"); // store_log.c syncs commits
    if (!error)
        error = store_open_execute(store, CACHE_TO_LOAD);
    if (!error)
        store->sound = store_sound_begin(path);
    if (!error && !store->sound)
        error = OUTCOME_NO_MEMORY;
    if (!error)
        error = migrate(store);
    if (!error)
        error = store_open_execute(store, "PRAGMA foreign_keys = ON");
    if (!error)
        error = statements_prepare(store);
    if (!error && replication)
        error = store_changes_open(store->database, replication, &store->changes);
    if (!error)
        error = outcome_of(
            store_log_open(path, store->database, full_sync, store->changes, &store->log));
    if (error)
        goto close;
    *out = store;
    return OUTCOME_DONE;
close:
    store_close(&store);
    return error;
}

void store_close(struct store **store)
{
    if (!*store)
        return;
    if (store_sound_end(&(*store)->sound))
        log_debug("database: closed without having been read");
    store_log_close(&(*store)->log);
    store_changes_free(&(*store)->changes);
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize((*store)->statements[i]);
    sqlite3_close((*store)->database);
    free(*store);
    *store = NULL;
}
