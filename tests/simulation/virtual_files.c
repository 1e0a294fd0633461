// SPDX-License-Identifier: BSD-3-Clause
// SQLite's VFS over the virtual disk: files, their locks, and the shared index of the log.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulation/broker_process.h"
#include "tests/simulation/virtual_disk.h"
#include "tests/simulation/virtual_file.h"

// ---- SQLite's files ----

static int disk_close(sqlite3_file *base)
{
    struct handle *handle = (struct handle *)base;

    (void)handle;
    return SQLITE_OK;
}

static int disk_read(sqlite3_file *base, void *out, int size, sqlite3_int64 offset)
{
    const struct content *content = &((struct handle *)base)->file->current;
    int64_t there = content->size - offset;

    if (disk_strikes(DISK_READ_FAILS))
        return SQLITE_IOERR_READ;
    if (there >= size) {
        memcpy(out, content->bytes + offset, (size_t)size);
        return SQLITE_OK;
    }
    memset(out, 0, (size_t)size);
    if (there > 0)
        memcpy(out, content->bytes + offset, (size_t)there);
    return SQLITE_IOERR_SHORT_READ;
}

static int disk_write(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset)
{
    struct disk_file *file = ((struct handle *)base)->file;

    if (disk_strikes(DISK_CRASH))
        broker_process_die("a write to the disk");
    if (disk_strikes(DISK_WRITE_FAILS))
        return SQLITE_IOERR_WRITE;
    if (disk_strikes(DISK_FULL) || (offset + size > file->current.size && !disk_has_room()))
        return SQLITE_FULL;
    file_note(file, offset, bytes, size);
    return SQLITE_OK;
}

static int disk_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    file_note(((struct handle *)base)->file, size, NULL, -1);
    return SQLITE_OK;
}

static int disk_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    if (disk_strikes(DISK_CRASH))
        broker_process_die("a sync of the disk");
    if (disk_strikes(DISK_SYNC_FAILS))
        return SQLITE_IOERR_FSYNC;
    file_sync(((struct handle *)base)->file, UINT64_MAX);
    return SQLITE_OK;
}

static int disk_size(sqlite3_file *base, sqlite3_int64 *size)
{
    *size = ((struct handle *)base)->file->current.size;
    return SQLITE_OK;
}

static int disk_unlock(sqlite3_file *base, int level)
{
    struct handle *handle = (struct handle *)base;
    struct disk_file *file = handle->file;

    if (handle->lock > SQLITE_LOCK_SHARED && level <= SQLITE_LOCK_SHARED) {
        if (file->exclusive == handle)
            file->exclusive = NULL;
        if (file->reserved == handle)
            file->reserved = NULL;
    }
    if (handle->lock >= SQLITE_LOCK_SHARED && level == SQLITE_LOCK_NONE)
        file->shared--;
    if (level < handle->lock)
        handle->lock = level;
    return SQLITE_OK;
}

static int disk_lock(sqlite3_file *base, int level)
{
    struct handle *handle = (struct handle *)base;
    struct disk_file *file = handle->file;

    if (handle->lock >= level)
        return SQLITE_OK;
    if (handle->lock == SQLITE_LOCK_NONE) {
        if (file->exclusive)
            return SQLITE_BUSY;
        file->shared++;
        handle->lock = SQLITE_LOCK_SHARED;
    }
    if (level >= SQLITE_LOCK_RESERVED) {
        if (file->reserved && file->reserved != handle)
            return SQLITE_BUSY;
        file->reserved = handle;
    }
    if (level == SQLITE_LOCK_EXCLUSIVE) {
        if (file->shared > 1)
            return SQLITE_BUSY;
        file->exclusive = handle;
    }
    handle->lock = level;
    return SQLITE_OK;
}

static int disk_check_lock(sqlite3_file *base, int *out)
{
    *out = ((struct handle *)base)->file->reserved != NULL;
    return SQLITE_OK;
}

static int disk_control(sqlite3_file *base, int operation, void *argument)
{
    (void)base;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int disk_sector(sqlite3_file *base)
{
    (void)base;
    return SECTOR;
}

static int disk_traits(sqlite3_file *base)
{
    (void)base;
    return 0;
}

// ---- the log's index ----

static int disk_shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **out)
{
    struct handle *handle = (struct handle *)base;
    struct disk_file *file = handle->file;

    *out = NULL;
    file->shm_users += !handle->has_shm;
    handle->has_shm = true;
    if (region >= REGIONS_MAX)
        return SQLITE_NOMEM;
    if (!file->regions[region] && extend)
        file->regions[region] = calloc(1, (size_t)size);
    *out = file->regions[region];
    return SQLITE_OK;
}

static void shm_unlock(struct handle *handle, int lock)
{
    struct disk_file *file = handle->file;

    if (handle->shm_shared & 1u << lock)
        file->shm_shared[lock]--;
    if (handle->shm_exclusive & 1u << lock)
        file->shm_exclusive[lock] = NULL;
    handle->shm_shared &= ~(1u << lock);
    handle->shm_exclusive &= ~(1u << lock);
}

static bool shm_is_taken(const struct handle *handle, int lock, bool exclusive)
{
    const struct disk_file *file = handle->file;
    unsigned own = handle->shm_shared >> lock & 1;

    return (file->shm_exclusive[lock] && file->shm_exclusive[lock] != handle) ||
           (exclusive && file->shm_shared[lock] > own);
}

static int disk_shm_lock(sqlite3_file *base, int first, int count, int flags)
{
    struct handle *handle = (struct handle *)base;
    bool exclusive = flags & SQLITE_SHM_EXCLUSIVE;

    for (int i = first; i < first + count; i++)
        if (flags & SQLITE_SHM_UNLOCK)
            shm_unlock(handle, i);
        else if (shm_is_taken(handle, i, exclusive))
            return SQLITE_BUSY;
    for (int i = first; !(flags & SQLITE_SHM_UNLOCK) && i < first + count; i++) {
        if (exclusive) {
            handle->file->shm_exclusive[i] = handle;
            handle->shm_exclusive |= 1u << i;
        } else if (!(handle->shm_shared & 1u << i)) {
            handle->file->shm_shared[i]++;
            handle->shm_shared |= 1u << i;
        }
    }
    return SQLITE_OK;
}

static void disk_shm_barrier(sqlite3_file *base)
{
    (void)base;
}

static int disk_shm_unmap(sqlite3_file *base, int delete)
{
    struct handle *handle = (struct handle *)base;

    for (int i = 0; i < LOCKS; i++)
        shm_unlock(handle, i);
    handle->file->shm_users -= handle->has_shm;
    handle->has_shm = false;
    // The first that opens the index begins it anew.
    if (delete || !handle->file->shm_users)
        file_free_regions(handle->file);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = disk_close,
    .xRead = disk_read,
    .xWrite = disk_write,
    .xTruncate = disk_truncate,
    .xSync = disk_sync,
    .xFileSize = disk_size,
    .xLock = disk_lock,
    .xUnlock = disk_unlock,
    .xCheckReservedLock = disk_check_lock,
    .xFileControl = disk_control,
    .xSectorSize = disk_sector,
    .xDeviceCharacteristics = disk_traits,
    .xShmMap = disk_shm_map,
    .xShmLock = disk_shm_lock,
    .xShmBarrier = disk_shm_barrier,
    .xShmUnmap = disk_shm_unmap,
};

// ---- the file system ----

static int disk_open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
                          int *out)
{
    struct handle *handle = (struct handle *)base;
    struct disk_file *file = file_named(name ? name : "/disk/temporary", true);

    (void)vfs;
    *handle = (struct handle){.file = file};
    if (!file || (!file->exists && !(flags & SQLITE_OPEN_CREATE)))
        return SQLITE_CANTOPEN;
    file->exists = true;
    handle->base.pMethods = &methods;
    if (out)
        *out = flags;
    return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    struct disk_file *file = file_named(name, false);

    (void)vfs;
    (void)sync;
    if (!file || !file->exists)
        return SQLITE_IOERR_DELETE_NOENT;
    file_drop(file);
    return SQLITE_OK;
}

static int disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    const struct disk_file *file = file_named(name, false);

    (void)vfs;
    *out = file && file->exists && (flags != SQLITE_ACCESS_EXISTS || file->current.size > 0);
    return SQLITE_OK;
}

static int disk_full_name(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
    (void)vfs;
    snprintf(out, (size_t)room, "%s", name);
    return SQLITE_OK;
}

static int disk_random(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    for (int i = 0; i < size; i++)
        out[i] = (char)dice_roll(&disk_dice);
    return size;
}

static int disk_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds;
}

static int disk_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    (void)vfs;
    *out = INT64_C(210866760000000) + host_wall_ns(world_host) / 1000000;
    return SQLITE_OK;
}

void disk_open(uint64_t seed)
{
    static sqlite3_vfs vfs = {.iVersion = 2,
                              .szOsFile = sizeof(struct handle),
                              .mxPathname = 256,
                              .zName = "virtual",
                              .xOpen = disk_open_file,
                              .xDelete = disk_delete,
                              .xAccess = disk_access,
                              .xFullPathname = disk_full_name,
                              .xRandomness = disk_random,
                              .xSleep = disk_sleep,
                              .xCurrentTimeInt64 = disk_time};

    disk_dice = dice_of(seed, "disk");
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_vfs_register(&vfs, 1);
}
