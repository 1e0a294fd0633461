/* Moves the write-ahead log into the database, in a thread with a connection of its own. */
#include "broker/store_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/log.h"

/*
 * From WANTED pages on the thread copies them. While it does, commits append more, so a steady
 * stream of them could keep it from ever being done, and only a log that was copied whole begins
 * anew. At URGENT pages a commit therefore copies what is left itself, when nothing can be added,
 * unless the thread is at it; at LIMIT pages it waits for the thread first.
 */
enum { WANTED_PAGES = 1000, URGENT_PAGES = 4000, LIMIT_PAGES = 8000 };

/* What a log that begins anew keeps of its file. */
#define KEEP_SIZE "PRAGMA journal_size_limit = 16777216"

struct store_log {
    sqlite3 *writer;   /* the store's connection */
    sqlite3 *database; /* the thread's */
    pthread_t thread;
    pthread_mutex_t copying; /* one of the two at a time */
    pthread_mutex_t lock;    /* of what follows */
    pthread_cond_t wake;
    bool running, wanted, stop;
};

/* Of the calling thread's connection. A connection that has not read the schema answers OK and does
 * nothing, with -1 pages: that must never go unseen. */
static void checkpoint(sqlite3 *database)
{
    int pages = -1, copied = -1;
    int code = sqlite3_wal_checkpoint_v2(database, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);

    if (code == SQLITE_OK && pages < 0)
        log_error("database: the log is not moved into the database: no log is open");
    else if (code != SQLITE_OK && code != SQLITE_BUSY)
        log_warn("database: checkpoint: %s", sqlite3_errstr(code));
}

static void *run(void *context)
{
    struct store_log *self = context;

    pthread_mutex_lock(&self->lock);
    while (!self->stop) {
        if (!self->wanted) {
            pthread_cond_wait(&self->wake, &self->lock);
            continue;
        }
        self->wanted = false;
        pthread_mutex_unlock(&self->lock);
        pthread_mutex_lock(&self->copying);
        checkpoint(self->database);
        pthread_mutex_unlock(&self->copying);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* In the writer's thread, after each commit. */
static int after_commit(void *context, sqlite3 *database, const char *name, int pages)
{
    struct store_log *self = context;

    (void)name;
    if (pages >= LIMIT_PAGES)
        pthread_mutex_lock(&self->copying);
    if (pages >= LIMIT_PAGES || (pages >= URGENT_PAGES && !pthread_mutex_trylock(&self->copying))) {
        checkpoint(database);
        pthread_mutex_unlock(&self->copying);
    } else if (pages >= WANTED_PAGES) {
        pthread_mutex_lock(&self->lock);
        self->wanted = true;
        pthread_cond_signal(&self->wake);
        pthread_mutex_unlock(&self->lock);
    }
    return SQLITE_OK;
}

static int read_schema(sqlite3 *database)
{
    return sqlite3_exec(database, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
}

int store_log_open(const char *path, sqlite3 *database, struct store_log **out)
{
    struct store_log *self = calloc(1, sizeof(*self));
    int code;

    if (!self)
        return -ENOMEM;
    self->writer = database;
    pthread_mutex_init(&self->copying, NULL);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->wake, NULL);
    code = sqlite3_open_v2(path, &self->database, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK)
        code = read_schema(self->database);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, KEEP_SIZE, NULL, NULL, NULL);
    if (code != SQLITE_OK || pthread_create(&self->thread, NULL, run, self)) {
        log_error("database: the log's thread does not start: %s", sqlite3_errstr(code));
        store_log_close(&self);
        return -EIO;
    }
    self->running = true;
    sqlite3_wal_hook(database, after_commit, self);
    *out = self;
    return 0;
}

void store_log_close(struct store_log **pointer)
{
    struct store_log *self = *pointer;

    if (!self)
        return;
    if (self->running) {
        sqlite3_wal_hook(self->writer, NULL, NULL);
        pthread_mutex_lock(&self->lock);
        self->stop = true;
        pthread_cond_signal(&self->wake);
        pthread_mutex_unlock(&self->lock);
        pthread_join(self->thread, NULL);
    }
    sqlite3_close(self->database);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->lock);
    pthread_mutex_destroy(&self->copying);
    free(self);
    *pointer = NULL;
}
