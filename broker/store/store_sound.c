// SPDX-License-Identifier: BSD-3-Clause
// The check uses a thread with its own database connection.
#include "broker/store/store_sound.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

enum { TIMEOUT_MS = 10000 };

struct store_sound {
    sqlite3 *database;
    pthread_t thread;
    enum outcome verdict;
};

static enum outcome store_sound_refuse(const char *why)
{
    log_error("database: integrity check: %s", why);
    return OUTCOME_DATABASE_DAMAGED;
}

enum outcome store_sound_check(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    enum outcome error = OUTCOME_DONE;
    const char *verdict = "no answer";

    if (sqlite3_prepare_v2(database, "PRAGMA quick_check(1)", -1, &statement, NULL) != SQLITE_OK)
        return store_sound_refuse(sqlite3_errmsg(database));
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        verdict = (const char *)sqlite3_column_text(statement, 0);
    if (strcmp(verdict, "ok"))
        error = store_sound_refuse(verdict);
    sqlite3_finalize(statement);
    return error;
}

static void *store_sound_run(void *argument)
{
    struct store_sound *self = argument;

    self->verdict = store_sound_check(self->database);
    return NULL;
}

// Signals are for the main thread.
static int store_sound_start_thread(struct store_sound *self)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&self->thread, NULL, store_sound_run, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

struct store_sound *store_sound_begin(const char *path)
{
    struct store_sound *self = calloc(1, sizeof(*self));

    if (!self)
        return NULL;
    if (sqlite3_open_v2(path, &self->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_busy_timeout(self->database, TIMEOUT_MS) != SQLITE_OK ||
        store_sound_start_thread(self) < 0) {
        sqlite3_close(self->database);
        free(self);
        return NULL;
    }
    return self;
}

enum outcome store_sound_end(struct store_sound **pointer)
{
    struct store_sound *self = *pointer;
    enum outcome verdict;

    if (!self)
        return OUTCOME_DONE;
    pthread_join(self->thread, NULL);
    verdict = self->verdict;
    sqlite3_close(self->database);
    free(self);
    *pointer = NULL;
    return verdict;
}
