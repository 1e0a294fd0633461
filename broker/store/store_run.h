// SPDX-License-Identifier: BSD-3-Clause
// Shares the connection and its prepared statements among the files of the store: binds, runs and
// reads them. Only these files know SQLite.
#ifndef RGPU_BROKER_STORE_RUN_H
#define RGPU_BROKER_STORE_RUN_H

#include <sqlite3.h>

#include "broker/store/statements.h"
#include "broker/store/store_log.h"

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct store_log *log;
    struct store_sound *sound; // until the pool is loaded
};

// Logs the connection's last failure and returns its outcome, never OUTCOME_DONE.
enum outcome store_report(struct store *store, const char *what);

enum outcome statements_prepare(struct store *store) __attribute__((warn_unused_result));

// Returns a statement that is ready to be stepped. `types` has a letter for each parameter: t text
// (NULL allowed), n int64_t.
sqlite3_stmt *statement_query(struct store *store, enum statement number, const char *types, ...);
// Runs a statement that returns no rows.
enum outcome statement_run(struct store *store, enum statement number, const char *types, ...)
    __attribute__((warn_unused_result));
// Runs a statement with a table of columns. The parameters are members of `thing`; if `lease` is
// not NULL, the parameter :lease is set to it.
enum outcome statement_run_with(struct store *store, enum statement number, const void *thing,
                                const char *lease) __attribute__((warn_unused_result));

// ---- the current row of a statement; columns are found by name ----

const char *row_text(sqlite3_stmt *row, const char *name); // "" for NULL
int64_t row_number(sqlite3_stmt *row, const char *name);
bool row_has(sqlite3_stmt *row, const char *name); // not NULL
// Sets the members of `thing` from the columns of the row.
enum outcome row_read(sqlite3_stmt *row, const struct column *columns, struct pool *pool,
                      void *thing) __attribute__((warn_unused_result));
// Returns the columns with the role, as the API shows them.
json_t *row_show(sqlite3_stmt *row, const struct column *columns, unsigned role);

#endif
