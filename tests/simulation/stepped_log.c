// SPDX-License-Identifier: BSD-3-Clause
// The syncs and checkpoints of the broker's log as steps of virtual time, in place of the two
// threads of broker/store/store_log.c.
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker/store/store_changes.h"
#include "broker/store/store_log.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/replicas.h"
#include "tests/simulation/stepped_log.h"
#include "tests/simulation/virtual_disk.h"
#include "tests/simulation/virtual_system.h"

struct store_log {
    sqlite3 *writer, *database;
    struct store_changes *changes; // NULL unless commits go to a replicated log
    bool durable_only, syncing, checkpointing;
    int news;
    uint64_t committed, durable;
    uint64_t target, position; // of the sync under way
};

static struct dice dice;
static int64_t sync_most = 20 * MS;
static int wanted_pages = 100;

void stepped_log_set_up(uint64_t seed)
{
    dice = dice_of(seed, "log");
    wanted_pages = (int)dice_between(&dice, 10, 1000);
}

void stepped_log_slow(int64_t most)
{
    sync_most = most;
}

static void begin_sync(struct store_log *self);

static void on_synced(void *argument)
{
    struct store_log *self = argument;
    const uint64_t one = 1;

    if (self->changes && !replicas_have()) {
        world_after(&broker_host, 100 * MS, on_synced, self);
        return;
    }
    self->syncing = false;
    if (!self->changes)
        disk_sync_log(self->position);
    self->durable = self->target;
    if (write(self->news, &one, sizeof(one)) < 0)
        abort();
    if (self->committed > self->durable)
        begin_sync(self);
    virtual_fd_ready();
}

static uint64_t send_changes(struct store_log *self)
{
    struct log_entry entry;
    int count = store_changes_take(self->changes, &entry);

    if (count < 0)
        abort(); // out of memory
    replicas_send(&entry);
    return (uint64_t)count;
}

static void begin_sync(struct store_log *self)
{
    self->syncing = true;
    self->target = self->changes ? self->durable + send_changes(self) : self->committed;
    self->position = disk_log_position();
    world_after(&broker_host, dice_between(&dice, MS / 10, sync_most), on_synced, self);
}

static void on_checkpoint(void *argument)
{
    struct store_log *self = argument;
    int pages, copied;

    self->checkpointing = false;
    sqlite3_wal_checkpoint_v2(self->database, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
}

static int after_commit(void *argument, sqlite3 *database, const char *name, int pages)
{
    struct store_log *self = argument;

    (void)database;
    (void)name;
    if (self->changes && store_changes_commit(self->changes) < 0)
        abort(); // out of memory
    self->committed++;
    if (!self->durable_only)
        self->durable = self->committed;
    else if (!self->syncing)
        begin_sync(self);
    if (pages >= wanted_pages && !self->checkpointing) {
        self->checkpointing = true;
        world_after(&broker_host, dice_between(&dice, 0, 50 * MS), on_checkpoint, self);
    }
    return SQLITE_OK;
}

int store_log_open(const char *path, sqlite3 *database, bool durable, struct store_changes *changes,
                   struct store_log **out)
{
    static int left_open = -1; // by a process that died
    struct store_log *self = calloc(1, sizeof(*self));

    if (!self)
        return -ENOMEM;
    if (left_open >= 0)
        close(left_open);
    *self = (struct store_log){.writer = database,
                               .changes = changes,
                               .durable_only = durable,
                               .news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (sqlite3_open_v2(path, &self->database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_exec(self->database, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL) !=
            SQLITE_OK) {
        store_log_close(&self);
        return -EIO;
    }
    left_open = self->news;
    sqlite3_wal_hook(database, after_commit, self);
    *out = self;
    return 0;
}

void store_log_close(struct store_log **pointer)
{
    struct store_log *self = *pointer;

    if (!self)
        return;
    *pointer = NULL;
    sqlite3_wal_hook(self->writer, NULL, NULL);
    if (self->changes)
        store_log_await(self);
    sqlite3_close(self->database);
    free(self);
}

uint64_t store_log_committed(struct store_log *self)
{
    return self->committed;
}

uint64_t store_log_durable(struct store_log *self)
{
    return self->durable;
}

int store_log_fd(const struct store_log *self)
{
    return self->news;
}

// Without a majority the changes stay on their way, and with the leader's end their outcome is
// unknown.
static void await_majority(struct store_log *self)
{
    while (self->durable < self->committed) {
        if (!self->syncing)
            self->target = self->durable + send_changes(self);
        self->syncing = true;
        if (!replicas_have())
            return;
        self->syncing = false;
        self->durable = self->target;
    }
}

void store_log_await(struct store_log *self)
{
    if (self->changes) {
        await_majority(self);
        return;
    }
    disk_sync_log(disk_log_position());
    self->durable = self->committed;
}
