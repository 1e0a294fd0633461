// SPDX-License-Identifier: BSD-3-Clause
// The log of changes in etcd, and the snapshots that begin it.
#ifndef RGPU_BROKER_REPLICATED_LOG_H
#define RGPU_BROKER_REPLICATED_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/replication/log_position.h"

struct replication;

struct log_entry {
    uint64_t first, last; // numbers of its changes
    uint64_t term;
    uint8_t *bytes;
    size_t size;
};

struct log_head { // the newest snapshot
    struct log_position position;
    int64_t schema; // of its database; 0: there is no snapshot
    uint64_t size;
};

// A part of the log, from the entry that contains the position that was asked for.
struct log_news {
    struct log_head head;
    bool has_leader;
    struct log_entry *entries;
    size_t count;
};

// ---- reading; one thread ----

// Reads the log. Returns 0 or -EIO if etcd does not answer.
int replication_read(struct replication *replication, struct log_position from,
                     struct log_news *news) __attribute__((warn_unused_result));
void log_news_clear(struct log_news *news);
// Reads the snapshot. The caller frees it. Returns 0, -EIO, or -EAGAIN if another one has replaced
// it.
int replication_read_snapshot(struct replication *replication, const struct log_head *head,
                              uint8_t **bytes) __attribute__((warn_unused_result));
// ---- writing, if this broker leads ----

// Writes an entry and returns once a majority has it. Ends the process if this broker does not lead
// any more. One thread.
void replication_append(struct replication *replication, const struct log_entry *entry);
// Returns the size that an entry may have.
size_t replication_entry_max(void);
// Writes a snapshot of the database, and cuts the log before the snapshot that it replaces. Ends
// the process as above. One thread at a time.
void replication_write_snapshot(struct replication *replication, const struct log_head *head,
                                const uint8_t *bytes);

#endif
