// SPDX-License-Identifier: BSD-3-Clause
// The database's write-ahead log, beside the commits, which else would wait for the disk: it is made
// durable, one sync for all commits that came since the last, and moved into the database. Part of
// the store, with which it shares sqlite3.h.
#ifndef RGPU_BROKER_STORE_LOG_H
#define RGPU_BROKER_STORE_LOG_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store_log;

// Attaches to an open connection in WAL mode, which must outlive it. `durable`: commits are synced.
int store_log_open(const char *path, sqlite3 *database, bool durable, struct store_log **log)
    __attribute__((warn_unused_result));
// What was committed is durable afterwards.
void store_log_close(struct store_log **log);

// How many commits there were, and how many of them are durable.
uint64_t store_log_committed(struct store_log *log);
uint64_t store_log_durable(struct store_log *log);
// Readable, as an eventfd, when more commits have become durable.
int store_log_fd(const struct store_log *log);
// Waits until all are durable.
void store_log_await(struct store_log *log);

#endif
