// SPDX-License-Identifier: BSD-3-Clause
// Two threads: one syncs the write-ahead log, the other checkpoints it into the database.
#include "broker/store/store_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker/store/store_changes.h"
#include "common/base/log.h"
#include "common/base/scope.h"

// From WANTED pages on, the thread copies the log's pages. Meanwhile commits append more, so a
// steady stream of commits could keep the thread from ever finishing, and only a completely copied
// log is restarted. At URGENT pages a commit therefore copies the rest itself, while no page can be
// added, unless the thread is copying. At LIMIT pages the commit waits for the thread first.
enum { WANTED_PAGES = 1000, URGENT_PAGES = 4000, LIMIT_PAGES = 8000 };

// A snapshot of the database is written after that many changes of a replicated log.
enum { SNAPSHOT_CHANGES = 10000 };

// The bytes that a new log keeps of its file.
#define KEEP_SIZE "PRAGMA journal_size_limit = 16777216"

struct store_log {
    sqlite3 *writer;   // the store's connection
    sqlite3 *database; // the thread's
    pthread_t thread, syncer;
    pthread_mutex_t copying; // one of the two at a time
    pthread_mutex_t lock;    // of what follows
    pthread_cond_t wake, sync, synced;
    bool running, syncing, wanted, stop;
    int file, news; // the log itself, and the eventfd; -1 unless `durable`
    uint64_t committed, durable;
    struct store_changes *changes; // NULL unless commits go to a replicated log
    uint64_t logged;               // number of the last change in that log
    uint64_t copied;               // number of the last snapshot; of the thread
};

// For the calling thread's connection. A connection that has not read the schema answers OK and
// does nothing, with -1 pages: that must never go unnoticed.
static void checkpoint(sqlite3 *database)
{
    int pages = -1, copied = -1;
    int code =
        sqlite3_wal_checkpoint_v2(database, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);

    if (code == SQLITE_OK && pages < 0)
        log_error("database: the log is not moved into the database: no log is open");
    else if (code != SQLITE_OK && code != SQLITE_BUSY)
        log_warn("database: checkpoint: %s", sqlite3_errstr(code));
}

static void checkpoint_alone(struct store_log *self, sqlite3 *database)
{
    SCOPED_LOCK(&self->copying);
    checkpoint(database);
}

// False: the thread must end.
static bool await_wanted(struct store_log *self)
{
    SCOPED_LOCK(&self->lock);
    while (!self->stop && !self->wanted)
        pthread_cond_wait(&self->wake, &self->lock);
    self->wanted = false;
    return !self->stop;
}

// ---- the replicated log ----

// Waits until the log has change NUMBER, which a snapshot contains.
static bool await_logged(struct store_log *self, uint64_t number)
{
    SCOPED_LOCK(&self->lock);
    while (!self->stop && self->logged < number)
        pthread_cond_wait(&self->synced, &self->lock);
    return self->logged >= number;
}

static void write_snapshot(struct store_log *self)
{
    struct log_head head;
    uint8_t *bytes = store_serialize(self->database, &head);

    if (bytes && await_logged(self, head.position.number)) {
        replication_write_snapshot(self->changes->replication, &head, bytes);
        self->copied = head.position.number;
    }
    sqlite3_free(bytes);
}

static bool is_snapshot_due(struct store_log *self)
{
    SCOPED_LOCK(&self->lock);
    return self->changes && !self->stop && self->logged >= self->copied + SNAPSHOT_CHANGES;
}

// Returns how many commits the log now has more.
static uint64_t append_pending(struct store_log *self)
{
    struct log_entry entry;
    int count;

    {
        SCOPED_LOCK(&self->lock);
        count = store_changes_take(self->changes, &entry);
    }
    if (count < 0)
        abort(); // out of memory, where libevent and jansson abort as well
    replication_append(self->changes->replication, &entry);
    free(entry.bytes);
    SCOPED_LOCK(&self->lock);
    self->logged = entry.last;
    return (uint64_t)count;
}

static void *store_log_run(void *argument)
{
    struct store_log *self = argument;

    while (await_wanted(self)) {
        checkpoint_alone(self, self->database);
        if (is_snapshot_due(self))
            write_snapshot(self);
    }
    return NULL;
}

// After a failed sync the contents of the disk are unknown, and another sync may report success all
// the same. The broker has confirmed only synced changes to clients, so it can exit and restart
// from the disk.
static void store_log_give_up(void)
{
    log_error(
        "database: sync of the log failed: error=\"%s\"; the broker ends, and starts anew from "
        "what is on disk",
        strerror(errno));
    _exit(1);
}

// Sets *target to the position up to which the log must become durable. Returns false if all of it
// is and the thread should end.
static bool await_commit(struct store_log *self, uint64_t *target)
{
    SCOPED_LOCK(&self->lock);
    while (self->committed == self->durable && !self->stop)
        pthread_cond_wait(&self->sync, &self->lock);
    *target = self->committed;
    return self->committed != self->durable;
}

static void note_durable(struct store_log *self, uint64_t target)
{
    const uint64_t one = 1;

    SCOPED_LOCK(&self->lock);
    self->durable = target;
    pthread_cond_broadcast(&self->synced);
    if (write(self->news, &one, sizeof(one)) < 0)
        log_debug("the eventfd is full"); // then it is readable
}

static void *sync_commits(void *argument)
{
    struct store_log *self = argument;
    uint64_t target;

    while (await_commit(self, &target)) {
        if (self->changes)
            target = self->durable + append_pending(self);
        else if (fdatasync(self->file) < 0)
            store_log_give_up();
        note_durable(self, target);
    }
    return NULL;
}

static void count_commit(struct store_log *self)
{
    SCOPED_LOCK(&self->lock);
    if (self->changes && store_changes_commit(self->changes) < 0)
        abort(); // out of memory: a restart continues from the log
    self->committed++;
    if (self->syncing)
        pthread_cond_signal(&self->sync);
    else
        self->durable = self->committed;
}

static void ask_for_checkpoint(struct store_log *self)
{
    SCOPED_LOCK(&self->lock);
    self->wanted = true;
    pthread_cond_signal(&self->wake);
}

// In the writer's thread, after each commit.
static int after_commit(void *argument, sqlite3 *database, const char *name, int pages)
{
    struct store_log *self = argument;

    (void)name;
    count_commit(self);
    if (pages >= LIMIT_PAGES) {
        checkpoint_alone(self, database);
    } else if (pages >= URGENT_PAGES && !pthread_mutex_trylock(&self->copying)) {
        checkpoint(database);
        pthread_mutex_unlock(&self->copying);
    } else if (pages >= WANTED_PAGES) {
        ask_for_checkpoint(self);
    }
    return SQLITE_OK;
}

static int read_schema(sqlite3 *database)
{
    return sqlite3_exec(database, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
}

// SQLite locks no bytes of this file, so that another descriptor of it does no harm.
static int open_file(struct store_log *self, const char *path)
{
    char name[4096];

    if ((size_t)snprintf(name, sizeof(name), "%s-wal", path) >= sizeof(name))
        return -ENAMETOOLONG;
    self->file = open(name, O_RDWR | O_CLOEXEC);
    self->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return self->file < 0 || self->news < 0 ? -errno : 0;
}

// Signals are for the main thread.
static int store_log_start_threads(struct store_log *self, bool durable)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&self->thread, NULL, store_log_run, self);
    self->running = !error;
    if (!error && durable) {
        error = pthread_create(&self->syncer, NULL, sync_commits, self);
        self->syncing = !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

static int open_database(struct store_log *self, const char *path)
{
    int code = sqlite3_open_v2(path, &self->database, SQLITE_OPEN_READWRITE, NULL);

    if (code == SQLITE_OK)
        code = read_schema(self->database);
    if (code == SQLITE_OK)
        code = sqlite3_exec(self->writer, KEEP_SIZE, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return 0;
    log_error("database: %s", sqlite3_errstr(code));
    return -EIO;
}

int store_log_open(const char *path, sqlite3 *database, bool durable, struct store_changes *changes,
                   struct store_log **out)
{
    struct store_log *self = calloc(1, sizeof(*self));
    int error;

    if (!self)
        return -ENOMEM;
    self->writer = database;
    self->changes = changes;
    if (changes)
        self->logged = self->copied = changes->position.number;
    self->file = self->news = -1;
    pthread_mutex_init(&self->copying, NULL);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->wake, NULL);
    pthread_cond_init(&self->sync, NULL);
    pthread_cond_init(&self->synced, NULL);
    error = open_database(self, path);
    if (!error && (durable || changes))
        error = open_file(self, path);
    if (!error)
        error = store_log_start_threads(self, durable || changes);
    if (error) {
        log_error("database: the log's threads do not start: %s", strerror(-error));
        store_log_close(&self);
        return error;
    }
    sqlite3_wal_hook(database, after_commit, self);
    *out = self;
    return 0;
}

uint64_t store_log_committed(struct store_log *self)
{
    SCOPED_LOCK(&self->lock);
    return self->committed;
}

uint64_t store_log_durable(struct store_log *self)
{
    SCOPED_LOCK(&self->lock);
    return self->durable;
}

int store_log_fd(const struct store_log *self)
{
    return self->news;
}

void store_log_await(struct store_log *self)
{
    SCOPED_LOCK(&self->lock);
    while (self->durable < self->committed)
        pthread_cond_wait(&self->synced, &self->lock);
}

void store_log_close(struct store_log **pointer)
{
    struct store_log *self = *pointer;

    if (!self)
        return;
    sqlite3_wal_hook(self->writer, NULL, NULL);
    {
        SCOPED_LOCK(&self->lock);
        self->stop = true;
        pthread_cond_signal(&self->wake);
        pthread_cond_signal(&self->sync);
        pthread_cond_broadcast(&self->synced);
    }
    if (self->running)
        pthread_join(self->thread, NULL);
    if (self->syncing)
        pthread_join(self->syncer, NULL);
    sqlite3_close(self->database);
    if (self->file >= 0)
        close(self->file);
    if (self->news >= 0)
        close(self->news);
    pthread_cond_destroy(&self->wake);
    pthread_cond_destroy(&self->sync);
    pthread_cond_destroy(&self->synced);
    pthread_mutex_destroy(&self->lock);
    pthread_mutex_destroy(&self->copying);
    free(self);
    *pointer = NULL;
}
