// SPDX-License-Identifier: BSD-3-Clause
// Syncs the database's write-ahead log (WAL) in a thread, so that commits do not wait for the disk.
// One sync makes all earlier commits durable. The thread also checkpoints the log into the
// database. Part of the store.
#ifndef RGPU_BROKER_STORE_LOG_H
#define RGPU_BROKER_STORE_LOG_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store_changes;
struct store_log;

// Starts the thread for an open connection in WAL mode, which must stay open until store_log_close.
// DURABLE: sync commits; otherwise every commit counts as durable. CHANGES: commits are written to
// the replicated log instead, from time to time with a snapshot; NULL: there is none. Returns 0 or
// -errno.
int store_log_open(const char *path, sqlite3 *database, bool durable, struct store_changes *changes,
                   struct store_log **log) __attribute__((warn_unused_result));
// Syncs all commits, stops the thread and frees.
void store_log_close(struct store_log **log);

// Return the number of commits, and of durable commits.
uint64_t store_log_committed(struct store_log *log);
uint64_t store_log_durable(struct store_log *log);
// Returns an eventfd that becomes readable when more commits are durable.
int store_log_fd(const struct store_log *log);
// Waits until all commits are durable.
void store_log_await(struct store_log *log);

#endif
