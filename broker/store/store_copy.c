// SPDX-License-Identifier: BSD-3-Clause
// Copies and checks the database, also while a broker has it open.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/store/migrations.h"
#include "broker/store/store.h"
#include "broker/store/store_run.h"
#include "common/base/log.h"

enum { TIMEOUT_MS = 10000, PAGES_AT_ONCE = 1000 };

// Each gives a sentence for every row that breaks a promise.
static const char *const promises[] = {
    "SELECT 'a row of ' || \"table\" || ' refers to nothing in ' || parent FROM pragma_foreign_key_check",
    "SELECT 'GPU ' || gpu || ' is granted exclusively ' || count(*) || ' times' FROM holds"
    " WHERE held = 1 AND mode = 'exclusive' GROUP BY gpu HAVING count(*) > 1",
    "SELECT 'GPU ' || gpu || ' is held both exclusively and in shares' FROM holds WHERE held = 1"
    " GROUP BY gpu HAVING count(DISTINCT mode) > 1",
    "SELECT 'shares of GPU ' || uuid || ' take more than there is' FROM gpus JOIN holds ON gpu = uuid"
    " WHERE held = 1 AND holds.mode = 'shared' GROUP BY uuid"
    " HAVING sum(holds.memory + holds.context) > gpus.memory * overcommit / 100 - reserved",
    "SELECT 'GPU ' || uuid || ' of mode ' || gpus.mode || ' is held as ' || holds.mode FROM gpus"
    " JOIN holds ON gpu = uuid WHERE held = 1 AND gpus.mode <> holds.mode",
    "SELECT 'lease ' || lease || ' holds GPU ' || gpu || ', which is not known' FROM holds"
    " LEFT JOIN gpus ON uuid = gpu WHERE held = 1 AND uuid IS NULL",
    "SELECT 'lease ' || id || ' is ' || state || ' and holds GPUs' FROM leases"
    " WHERE state IN ('queued', 'ended') AND id IN (SELECT lease FROM holds WHERE held = 1)",
    "SELECT 'lease ' || id || ' is ' || state || ' and holds nothing' FROM leases"
    " WHERE state IN ('granted', 'lost') AND suspension = '' AND id NOT IN (SELECT lease FROM holds WHERE held = 1)",
    "SELECT 'lease ' || lease || ' has ' || count(*) || ' events ' || kind FROM events"
    " WHERE kind IN ('lease.granted', 'lease.ended') GROUP BY kind, lease HAVING count(*) > 1",
};

static int open_to_read(const char *path, sqlite3 **database)
{
    int code = sqlite3_open_v2(path, database, SQLITE_OPEN_READONLY, NULL);

    if (code == SQLITE_OK)
        sqlite3_busy_timeout(*database, TIMEOUT_MS);
    else
        log_error("%s: %s", path, sqlite3_errstr(code));
    return code == SQLITE_OK ? 0 : -EIO;
}

// Logs the rows of a statement as errors, except a row with the text `good`. Returns the number of
// logged rows, or -EUCLEAN.
static int tell_rows(sqlite3 *database, const char *path, const char *sql, const char *good)
{
    sqlite3_stmt *statement;
    int code, count = 0;

    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) {
        log_error("%s: %s", path, sqlite3_errmsg(database));
        return -EUCLEAN;
    }
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        if (text && good && !strcmp(text, good))
            continue;
        log_error("%s: %s", path, text ? text : "?");
        count++;
    }
    if (code != SQLITE_DONE)
        log_error("%s: %s", path, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? count : -EUCLEAN;
}

static int check_schema(sqlite3 *database, const char *path)
{
    const int known = (int)(sizeof(migrations) / sizeof(migrations[0]));
    sqlite3_stmt *statement;
    int version = -1;

    if (sqlite3_prepare_v2(database, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        version = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    if (version == known)
        return 0;
    if (version > 0 && version < known)
        log_info(
            "%s: schema=%d is of an earlier version; the broker brings it to %d when it starts",
            path, version, known);
    else
        log_error("%s: schema=%d is none that this program knows (1 to %d)", path, version, known);
    return version > 0 && version < known ? 1 : -EUCLEAN;
}

int store_check(const char *path)
{
    sqlite3 *database = NULL;
    int error = open_to_read(path, &database), found = 0, schema = 0;

    if (!error)
        found = tell_rows(database, path, "PRAGMA integrity_check", "ok");
    if (!error && found == 0)
        schema = check_schema(database, path);
    // An earlier schema may lack the tables that the promises query.
    for (size_t i = 0; !error && !found && !schema && i < sizeof(promises) / sizeof(*promises);
         i++) {
        int more = tell_rows(database, path, promises[i], NULL);
        found = more < 0 ? more : found + more;
    }
    sqlite3_close(database);
    return error ? error : found || schema < 0 ? -EUCLEAN : 0;
}

static int copy_pages(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    int code = SQLITE_ERROR;

    while (backup) {
        code = sqlite3_backup_step(backup, PAGES_AT_ONCE);
        if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
            sqlite3_sleep(10);
        else if (code != SQLITE_OK)
            break;
    }
    if (backup)
        sqlite3_backup_finish(backup);
    if (code == SQLITE_DONE)
        // The copy is one file, without a log beside it.
        code = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : code == SQLITE_FULL ? -ENOSPC : -EIO;
}

void store_fold(const char *path)
{
    sqlite3 *database = NULL;

    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
        sqlite3_exec(database, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    sqlite3_close(database);
}

static int sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = fd < 0 || fsync(fd) < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return error;
}

int store_backup(const char *path, const char *copy)
{
    sqlite3 *from = NULL, *to = NULL;
    char *partial = NULL;
    int error = asprintf(&partial, "%s.part", copy) < 0 ? -ENOMEM : open_to_read(path, &from);

    if (!error && unlink(partial) < 0 && errno != ENOENT)
        error = -errno;
    if (!error && sqlite3_open_v2(partial, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
                      SQLITE_OK)
        error = -EIO;
    if (!error)
        error = copy_pages(from, to);
    sqlite3_close(to);
    sqlite3_close(from);
    if (!error)
        error = store_check(partial);
    if (!error)
        error = sync_file(partial);
    if (!error && rename(partial, copy) < 0)
        error = -errno;
    if (error)
        log_error("no copy of %s as %s: %s", path, copy, strerror(-error));
    if (error && partial)
        unlink(partial);
    free(partial);
    return error;
}
