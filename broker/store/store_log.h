// SPDX-License-Identifier: BSD-3-Clause
// Syncs the database's write-ahead log in a thread, so that commits need not wait for the disk. One
// sync makes all commits since the previous one durable; the thread also moves the log into the
// database. Part of the store, with which it shares sqlite3.h.
#ifndef RGPU_BROKER_STORE_LOG_H
#define RGPU_BROKER_STORE_LOG_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store_log;

// Attaches to an open connection in WAL mode, which must outlive the log. `durable`: commits are
// synced.
int store_log_open(const char *path, sqlite3 *database, bool durable, struct store_log **log)
    __attribute__((warn_unused_result));
// Makes all commits durable and closes the log.
void store_log_close(struct store_log **log);

// Return the number of commits, and of durable commits.
uint64_t store_log_committed(struct store_log *log);
uint64_t store_log_durable(struct store_log *log);
// Returns an eventfd that is readable when more commits have become durable.
int store_log_fd(const struct store_log *log);
// Waits until all commits are durable.
void store_log_await(struct store_log *log);

#endif
