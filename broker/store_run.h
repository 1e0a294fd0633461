// SPDX-License-Identifier: BSD-3-Clause
// What the files of the store share: the connection and its prepared statements, which are bound, run
// and read here. Nothing but these files knows SQLite.
#ifndef RGPU_BROKER_STORE_RUN_H
#define RGPU_BROKER_STORE_RUN_H

#include <sqlite3.h>

#include "broker/statements.h"
#include "broker/store_log.h"

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct store_log *log;
    struct store_sound *sound; // until the pool is loaded
};

// Logs the connection's last failure and returns what it means, never OUTCOME_DONE.
enum outcome store_report(struct store *store, const char *what);

enum outcome statements_prepare(struct store *store) __attribute__((warn_unused_result));

// A statement, ready to be stepped. `types` has a letter for each parameter: t text (NULL allowed),
// n int64_t.
sqlite3_stmt *statement_query(struct store *store, enum statement number, const char *types, ...);
// Runs one that returns no rows.
enum outcome statement_run(struct store *store, enum statement number, const char *types, ...)
    __attribute__((warn_unused_result));
// The same for one with a table of columns, whose parameters are members of `thing`, and, unless it
// is NULL, of the lease that the parameter :lease names.
enum outcome statement_run_with(struct store *store, enum statement number, const void *thing,
                                const char *lease) __attribute__((warn_unused_result));

// ---- the row that a statement stands at; columns go by name ----

const char *row_text(sqlite3_stmt *row, const char *name); // "" for NULL
int64_t row_number(sqlite3_stmt *row, const char *name);
bool row_has(sqlite3_stmt *row, const char *name); // not NULL
// Sets the members of `thing` that the columns stand for.
enum outcome row_read(sqlite3_stmt *row, const struct column *columns, struct pool *pool,
                      void *thing) __attribute__((warn_unused_result));
// What of it has the role, as the API shows it.
json_t *row_show(sqlite3_stmt *row, const struct column *columns, unsigned role);

#endif
