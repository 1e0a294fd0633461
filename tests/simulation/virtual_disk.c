// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/virtual_disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/reserve.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/rare.h"
#include "tests/simulation/virtual_file.h"

enum { FILES_MAX = 8, COPIES_MAX = 16 };

static struct disk_file files[FILES_MAX];
static struct content copies[COPIES_MAX];
static unsigned copy_count;
static uint64_t position;
static unsigned countdown[DISK_CRASH + 1];
static bool is_full, is_held;
struct dice disk_dice;
unsigned disk_faults_delivered;

// ---- contents ----

static void content_write(struct content *content, int64_t offset, const void *bytes, int64_t size)
{
    int64_t end = offset + size;

    if (end > content->room) {
        content->room = end * 2;
        content->bytes = realloc(content->bytes, (size_t)content->room);
        if (!content->bytes)
            abort();
    }
    if (offset > content->size)
        memset(content->bytes + content->size, 0, (size_t)(offset - content->size));
    memcpy(content->bytes + offset, bytes, (size_t)size);
    if (end > content->size)
        content->size = end;
}

static void content_copy(struct content *to, const struct content *from)
{
    to->size = 0;
    if (from->size)
        content_write(to, 0, from->bytes, from->size);
}

static void file_apply(struct content *content, const struct pending *write, int64_t size)
{
    if (write->size >= 0)
        content_write(content, write->offset, write->bytes, size);
    else if (write->offset < content->size)
        content->size = write->offset;
}

void file_note(struct disk_file *file, int64_t offset, const void *bytes, int64_t size)
{
    struct pending *write = malloc(sizeof(*write) + (size > 0 ? (size_t)size : 0));

    if (!write)
        abort();
    *write = (struct pending){.position = ++position, .offset = offset, .size = size};
    if (size > 0)
        memcpy(write->bytes, bytes, (size_t)size);
    *file->last = write;
    file->last = &write->next;
    file_apply(&file->current, write, size);
}

void file_sync(struct disk_file *file, uint64_t until)
{
    struct pending *write;

    while ((write = file->first) && write->position <= until) {
        file_apply(&file->durable, write, write->size);
        file->first = write->next;
        free(write);
    }
    if (!file->first)
        file->last = &file->first;
}

struct disk_file *file_named(const char *name, bool create)
{
    struct disk_file *unused = NULL;

    for (int i = 0; i < FILES_MAX; i++) {
        if (!strcmp(files[i].name, name))
            return &files[i];
        if (!*files[i].name && !unused)
            unused = &files[i];
    }
    if (!create || !unused)
        return NULL;
    snprintf(unused->name, sizeof(unused->name), "%s", name);
    unused->last = &unused->first;
    return unused;
}

void file_drop(struct disk_file *file)
{
    file_sync(file, UINT64_MAX);
    file->current.size = file->durable.size = 0;
    file->exists = false;
}

void file_free_regions(struct disk_file *file)
{
    for (int i = 0; i < REGIONS_MAX; i++) {
        free(file->regions[i]);
        file->regions[i] = NULL;
    }
}

// ---- crashes ----

// Each write that was not synced is on the disk, or is not, or a part of its sectors is.
static void file_lose(struct disk_file *file)
{
    struct pending *write;

    while ((write = file->first)) {
        uint64_t fate = dice_below(&disk_dice, 10);
        if (write->size < 0 || fate < 4) {
            file_apply(&file->durable, write, write->size);
        } else if (fate < 6 && write->size > SECTOR) {
            int64_t kept = (int64_t)dice_below(&disk_dice, (uint64_t)(write->size / SECTOR)) *
                           SECTOR;
            file_apply(&file->durable, write, kept);
            rare_note(RARE_write_torn);
        } else {
            rare_note(RARE_write_lost);
        }
        file->first = write->next;
        free(write);
    }
    file->last = &file->first;
    content_copy(&file->current, &file->durable);
}

void disk_crash(bool killed)
{
    for (int i = 0; i < FILES_MAX; i++) {
        struct disk_file *file = &files[i];
        if (!*file->name)
            continue;
        if (!killed)
            file_lose(file);
        file->shared = 0;
        file->reserved = file->exclusive = NULL;
        memset(file->shm_shared, 0, sizeof(file->shm_shared));
        memset(file->shm_exclusive, 0, sizeof(file->shm_exclusive));
        file->shm_users = 0;
        file_free_regions(file);
    }
    memset(countdown, 0, sizeof(countdown));
}

uint64_t disk_log_position(void)
{
    return position;
}

void disk_sync_log(uint64_t until)
{
    struct disk_file *log = file_named(DISK_DATABASE "-wal", false);

    if (log)
        file_sync(log, until);
}

// ---- copies ----

// The broker is stopped, or the copy is made at a moment when SQLite's own backup would be done:
// database and log are read by another connection. No fault strikes meanwhile, since
// sqlite3_serialize() fills a page that cannot be read with zeros.
void disk_copy(void)
{
    sqlite3 *from = NULL;
    unsigned char *bytes;
    sqlite3_int64 size = 0;

    if (copy_count == COPIES_MAX)
        return;
    disk_hold_faults(true);
    if (sqlite3_open_v2(DISK_DATABASE, &from, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        bytes = sqlite3_serialize(from, "main", &size, 0);
        if (bytes && size > 0)
            content_write(&copies[copy_count++], 0, bytes, size);
        sqlite3_free(bytes);
    }
    sqlite3_close(from);
    disk_hold_faults(false);
}

void disk_replace(const void *bytes, int64_t size)
{
    struct disk_file *database = file_named(DISK_DATABASE, true),
                     *log = file_named(DISK_DATABASE "-wal", false);

    file_drop(database);
    if (log)
        file_drop(log);
    content_write(&database->current, 0, bytes, size);
    content_write(&database->durable, 0, bytes, size);
    database->exists = true;
}

bool disk_restore(unsigned number)
{
    if (number >= copy_count)
        return false;
    disk_replace(copies[number].bytes, copies[number].size);
    return true;
}

unsigned disk_copies(void)
{
    return copy_count;
}

// ---- faults ----

void disk_plan_fault(enum disk_fault fault, unsigned in)
{
    countdown[fault] = in;
}

void disk_hold_faults(bool hold)
{
    is_held = hold;
}

void disk_clear_faults(void)
{
    memset(countdown, 0, sizeof(countdown));
}

void disk_set_full(bool full)
{
    is_full = full;
}

bool disk_is_full(void)
{
    return is_full;
}

bool disk_strikes(enum disk_fault fault)
{
    if (is_held || !countdown[fault] || --countdown[fault])
        return false;
    disk_faults_delivered++;
    oracle_doubt();
    world_trace("the disk's fault %d strikes", fault);
    return true;
}

// ---- the disk's reserve (broker/pool/reserve.h) ----

void reserve_init(struct reserve *reserve, const char *path)
{
    (void)path;
    *reserve = (struct reserve){.path = "/disk/reserve"};
}

int reserve_take(struct reserve *reserve)
{
    if (reserve->held)
        return 0;
    reserve->held = !is_full;
    return is_full ? -ENOSPC : 0;
}

bool reserve_has_margin(const struct reserve *reserve)
{
    (void)reserve;
    return !is_full;
}

static unsigned granted_writes; // on a full disk, in the room of the reserve

bool disk_has_room(void)
{
    if (is_full && !granted_writes)
        return false;
    granted_writes -= granted_writes > 0;
    return true;
}

bool reserve_give(struct reserve *reserve)
{
    if (!reserve->held)
        return false;
    reserve->held = false;
    granted_writes = 4000;
    return true;
}
