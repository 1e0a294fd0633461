// SPDX-License-Identifier: BSD-3-Clause
// The broker's disk, below SQLite: files in memory that remember what was synced. A crash loses
// writes that were not, one by one or in part.
#ifndef RGPU_TEST_VIRTUAL_DISK_H
#define RGPU_TEST_VIRTUAL_DISK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/simulation/world.h"

#define DISK_DATABASE "/disk/pool.sqlite"

// Registers the disk as SQLite's standard VFS.
void disk_open(uint64_t seed);

// Return the position after the last write to the log; sync all writes before POSITION.
uint64_t disk_log_position(void);
void disk_sync_log(uint64_t position);

// The machine of the broker loses its power: files are what the disk kept. KILLED: only the process
// dies, so the kernel keeps all writes.
void disk_crash(bool killed);

// A copy of the database as a backup would make it, and its restoration. The number of copies.
void disk_copy(void);
bool disk_restore(unsigned number);
unsigned disk_copies(void);
// Puts a database in place of the present one.
void disk_replace(const void *bytes, int64_t size);

// Faults. IN counts operations from now on; 0: none.
enum disk_fault { DISK_WRITE_FAILS, DISK_READ_FAILS, DISK_SYNC_FAILS, DISK_FULL, DISK_CRASH };
void disk_plan_fault(enum disk_fault fault, unsigned in);
void disk_clear_faults(void);
// While held, no fault strikes or comes nearer: the simulator itself uses the database.
void disk_hold_faults(bool hold);
void disk_set_full(bool full);
bool disk_is_full(void);
// Faults that were delivered since the start.
extern unsigned disk_faults_delivered;

#endif
