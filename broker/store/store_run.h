// SPDX-License-Identifier: BSD-3-Clause
// Internals of the store: the SQLite connection, and its prepared statements. Only for files of
// broker/store.
#ifndef RGPU_BROKER_STORE_RUN_H
#define RGPU_BROKER_STORE_RUN_H

#include <sqlite3.h>

#include "broker/store/statements.h"
#include "broker/store/store_changes.h"
#include "broker/store/store_log.h"

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct store_log *log;
    struct store_changes *changes; // NULL unless the database is replicated
    struct store_sound *sound;     // running check of the database; NULL once the pool is loaded
    enum outcome read_error;       // of a query since store_take_read_error()
};

// Logs the last error of the connection. Returns its outcome, which is never OUTCOME_DONE.
enum outcome store_report(struct store *store, const char *what);

// Prepares all statements. Must be called once, after the schema is updated.
enum outcome statements_prepare(struct store *store) __attribute__((warn_unused_result));

// Binds the parameters of a statement and returns it, ready for sqlite3_step. TYPES has a letter
// for each parameter: t for a text (may be NULL), n for an int64_t.
sqlite3_stmt *statement_query(struct store *store, enum statement number, const char *types, ...);
// Runs a statement that returns no rows.
enum outcome statement_run(struct store *store, enum statement number, const char *types, ...)
    __attribute__((warn_unused_result));
// Runs a statement with a table of columns. The parameters are the members of THING, and :lease is
// LEASE unless that is NULL.
enum outcome statement_run_with(struct store *store, enum statement number, const void *thing,
                                const char *lease) __attribute__((warn_unused_result));

// Steps to the next row. False after the last one, and if the read fails, which is noted in
// read_error.
bool row_next(struct store *store, sqlite3_stmt *row);

// ---- access to the current row, by column name ----

const char *row_text(sqlite3_stmt *row, const char *name); // "" for NULL; valid until the next row
int64_t row_number(sqlite3_stmt *row, const char *name);
bool row_has(sqlite3_stmt *row, const char *name); // the column is not NULL
// Sets the members of `thing` from the columns of the row.
enum outcome row_read(sqlite3_stmt *row, const struct column *columns, struct pool *pool,
                      void *thing) __attribute__((warn_unused_result));
// Returns an object with the columns of role ROLE, as the API shows them.
json_t *row_show(sqlite3_stmt *row, const struct column *columns, unsigned role);

#endif
