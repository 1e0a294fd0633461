// SPDX-License-Identifier: BSD-3-Clause
// Prepares, binds and runs SQL statements, and reads their rows.
#include "broker/store/store_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

static enum outcome meaning_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return OUTCOME_DONE;
    case SQLITE_FULL: return OUTCOME_DISK_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return OUTCOME_DATABASE_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return OUTCOME_DATABASE_DAMAGED;
    case SQLITE_CONSTRAINT: return OUTCOME_DATABASE_REFUSES;
    case SQLITE_NOMEM: return OUTCOME_NO_MEMORY;
    }
    return OUTCOME_FAILED;
}

// Why the last write to the log failed, which SQLite does not say where it is no plain ENOSPC.
static int log_errno(struct store *store)
{
    sqlite3_file *file = NULL;
    int number = 0;

    sqlite3_file_control(store->database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (file && file->pMethods)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

// A quota, or a limit on the size of files, counts as a full disk.
enum outcome store_report(struct store *store, const char *what)
{
    int code = sqlite3_extended_errcode(store->database);
    enum outcome error = meaning_of(code);
    int number = error == OUTCOME_FAILED ? log_errno(store) : 0;

    if (number == ENOSPC || number == EFBIG || number == EDQUOT)
        error = OUTCOME_DISK_FULL;
    log_error("database: %s: code=%d %s", what, code, sqlite3_errmsg(store->database));
    return error ? error : OUTCOME_FAILED;
}

// ---- preparing and binding ----

static enum outcome store_run_prepare(struct store *store, int number)
{
    char *sql = statement_expand(&statement_texts[number]);
    enum outcome error = OUTCOME_DONE;

    if (!sql)
        return OUTCOME_NO_MEMORY;
    if (sqlite3_prepare_v3(store->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                           &store->statements[number], NULL) != SQLITE_OK)
        error = store_report(store, sql);
    free(sql);
    return error;
}

enum outcome statements_prepare(struct store *store)
{
    enum outcome error = OUTCOME_DONE;

    for (int i = 0; !error && i < STATEMENT_COUNT; i++)
        error = store_run_prepare(store, i);
    return error;
}

// SQLite copies text. Without memory the parameter would stay what it was before, and the statement
// would do something else.
static enum outcome bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    int result = sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);

    return result == SQLITE_NOMEM ? OUTCOME_NO_MEMORY : OUTCOME_DONE;
}

static enum outcome bind(struct store *store, enum statement number, const char *types,
                         va_list values)
{
    sqlite3_stmt *statement = store->statements[number];
    enum outcome error = OUTCOME_DONE;

    sqlite3_reset(statement);
    for (int i = 1; !error && *types; types++, i++) {
        if (*types == 't')
            error = bind_text(statement, i, va_arg(values, const char *));
        else
            sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
    }
    return error;
}

sqlite3_stmt *statement_query(struct store *store, enum statement number, const char *types, ...)
{
    va_list values;

    va_start(values, types);
    if (bind(store, number, types, values))
        abort(); // out of memory, where libevent and jansson abort as well
    va_end(values);
    return store->statements[number];
}

static enum outcome store_run_finish(struct store *store, enum statement number)
{
    sqlite3_stmt *statement = store->statements[number];
    enum outcome error = OUTCOME_DONE;

    if (sqlite3_step(statement) != SQLITE_DONE)
        error = store_report(store, statement_texts[number].sql);
    else if (number != BEGIN && number != COMMIT)
        store_changes_add(store->changes, statement);
    sqlite3_reset(statement);
    return error;
}

enum outcome statement_run(struct store *store, enum statement number, const char *types, ...)
{
    enum outcome error;
    va_list values;

    va_start(values, types);
    error = bind(store, number, types, values);
    va_end(values);
    return error ? error : store_run_finish(store, number);
}

// The place of a parameter, 0 where the statement has none of that name.
static int store_run_place_of(sqlite3_stmt *statement, const char *name)
{
    char parameter[64];

    snprintf(parameter, sizeof(parameter), ":%s", name);
    return sqlite3_bind_parameter_index(statement, parameter);
}

static enum outcome bind_column(sqlite3_stmt *statement, const struct column *column,
                                const void *thing)
{
    int place = store_run_place_of(statement, column->name);
    enum outcome error = OUTCOME_DONE;
    struct column_value value;

    if (place == 0)
        return OUTCOME_DONE;
    value = column_get(column, thing);
    if (column->kind == COLUMN_REQUEST && !value.text)
        return OUTCOME_NO_MEMORY;
    if (value.is_null)
        sqlite3_bind_null(statement, place);
    else if (value.text)
        error = bind_text(statement, place, value.text);
    else
        sqlite3_bind_int64(statement, place, value.number);
    free(value.owned);
    return error;
}

enum outcome statement_run_with(struct store *store, enum statement number, const void *thing,
                                const char *lease)
{
    sqlite3_stmt *statement = store->statements[number];
    enum outcome error = OUTCOME_DONE;

    sqlite3_reset(statement);
    for (const struct column *column = statement_texts[number].columns; !error && column->name;
         column++)
        error = bind_column(statement, column, thing);
    if (!error && lease)
        error = bind_text(statement, store_run_place_of(statement, "lease"), lease);
    return error ? error : store_run_finish(store, number);
}

// ---- rows ----

bool row_next(struct store *store, sqlite3_stmt *row)
{
    int code = sqlite3_step(row);

    if (code != SQLITE_ROW && code != SQLITE_DONE)
        store->read_error = store_report(store, "a query");
    return code == SQLITE_ROW;
}

static int column_of(sqlite3_stmt *row, const char *name)
{
    int count = sqlite3_column_count(row);

    for (int i = 0; i < count; i++)
        if (!strcmp(sqlite3_column_name(row, i), name))
            return i;
    abort(); // the name is in the code, not in any input
}

static const char *text_at(sqlite3_stmt *row, int place)
{
    const char *text = (const char *)sqlite3_column_text(row, place);

    return text ? text : "";
}

const char *row_text(sqlite3_stmt *row, const char *name)
{
    return text_at(row, column_of(row, name));
}

int64_t row_number(sqlite3_stmt *row, const char *name)
{
    return sqlite3_column_int64(row, column_of(row, name));
}

bool row_has(sqlite3_stmt *row, const char *name)
{
    return sqlite3_column_type(row, column_of(row, name)) != SQLITE_NULL;
}

// A statement whose rows are read by a table begins with its columns, in the order of the table.
static struct column_value store_run_value_of(sqlite3_stmt *row, const struct column *columns,
                                              const struct column *column)
{
    int place = (int)(column - columns);

    if (column->kind == COLUMN_NUMBER || column->kind == COLUMN_FLAG)
        return (struct column_value){.number = sqlite3_column_int64(row, place)};
    return (struct column_value){.text = text_at(row, place)};
}

enum outcome row_read(sqlite3_stmt *row, const struct column *columns, struct pool *pool,
                      void *thing)
{
    enum outcome error = OUTCOME_DONE;

    for (const struct column *column = columns; !error && column->name; column++) {
        struct column_value value = store_run_value_of(row, columns, column);
        error = column_set(column, pool, &value, thing);
    }
    return error;
}

json_t *row_show(sqlite3_stmt *row, const struct column *columns, unsigned role)
{
    json_t *object = json_object();

    for (const struct column *column = columns; column->name; column++) {
        struct column_value value;
        json_t *shown;

        if (!(column->roles & role))
            continue;
        value = store_run_value_of(row, columns, column);
        shown = column_to_json(column, &value);
        if (shown)
            json_object_set_new(object, column->name, shown);
    }
    return object;
}
