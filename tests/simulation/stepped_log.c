// SPDX-License-Identifier: BSD-3-Clause
// The syncs and checkpoints of the broker's log as steps of virtual time, in place of the two
// threads of broker/store/store_log.c.
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker/store/store_log.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/stepped_log.h"
#include "tests/simulation/virtual_disk.h"
#include "tests/simulation/virtual_system.h"

struct store_log {
    sqlite3 *writer, *database;
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

    self->syncing = false;
    disk_sync_log(self->position);
    self->durable = self->target;
    if (write(self->news, &one, sizeof(one)) < 0)
        abort();
    if (self->committed > self->durable)
        begin_sync(self);
    virtual_fd_ready();
}

static void begin_sync(struct store_log *self)
{
    self->syncing = true;
    self->target = self->committed;
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

void store_log_await(struct store_log *self)
{
    disk_sync_log(disk_log_position());
    self->durable = self->committed;
}
