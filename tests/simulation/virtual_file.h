// SPDX-License-Identifier: BSD-3-Clause
// A file of the virtual disk, for its two sources.
#ifndef RGPU_TEST_VIRTUAL_FILE_H
#define RGPU_TEST_VIRTUAL_FILE_H

#include <sqlite3.h>

#include "tests/simulation/virtual_disk.h"

enum { SECTOR = 512, LOCKS = SQLITE_SHM_NLOCK, REGIONS_MAX = 64 };

struct content {
    unsigned char *bytes;
    int64_t size, room;
};

// A write or truncation that is not synced.
struct pending {
    struct pending *next;
    uint64_t position;
    int64_t offset, size; // size -1: truncation at OFFSET
    unsigned char bytes[];
};

struct disk_file {
    char name[64];
    bool exists;
    struct content current, durable;
    struct pending *first, **last;
    unsigned shared; // locks of the database file
    struct handle *reserved, *exclusive;
    // shared memory of the log's index, and the handles that have it
    unsigned char *regions[REGIONS_MAX];
    unsigned shm_users;
    unsigned shm_shared[LOCKS];
    struct handle *shm_exclusive[LOCKS];
};

struct handle {
    sqlite3_file base;
    struct disk_file *file;
    int lock;
    bool has_shm;
    unsigned shm_shared, shm_exclusive; // bit masks of its own locks
};

extern struct dice disk_dice;

struct disk_file *file_named(const char *name, bool create);
// A write, or with SIZE -1 a truncation.
void file_note(struct disk_file *file, int64_t offset, const void *bytes, int64_t size);
void file_sync(struct disk_file *file, uint64_t until);
void file_drop(struct disk_file *file);
void file_free_regions(struct disk_file *file);
// Returns true if a planned fault happens now.
bool disk_strikes(enum disk_fault fault);
// Returns false if the disk is full and its reserve is used up.
bool disk_has_room(void);

#endif
