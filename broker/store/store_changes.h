// SPDX-License-Identifier: BSD-3-Clause
// Changes of the database as a replicated log has them: the SQL text of each transaction, with the
// number of rows that it changes. Part of the store.
#ifndef RGPU_BROKER_STORE_CHANGES_H
#define RGPU_BROKER_STORE_CHANGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "broker/pool/outcome.h"
#include "broker/replication/replicated_log.h"

// Each change in an entry of the log, followed by its text of SIZE bytes with a '\0' at the end.
struct change_header {
    uint32_t size, rows;
};

struct store_changes {
    struct replication *replication;
    struct log_position position; // of the last commit
    // The transaction that is open.
    FILE *text;
    char *bytes;
    size_t size;
    int rows_before;
    // Committed, but not yet in the log; protected by the lock of store_log.c.
    struct log_entry pending;
};

// Prepares the database to be replicated: gives it a position, and writes it as a snapshot if there
// is none of its schema.
enum outcome store_changes_open(sqlite3 *database, struct replication *replication,
                                struct store_changes **out) __attribute__((warn_unused_result));
void store_changes_free(struct store_changes **changes);

// ---- a transaction; CHANGES may be NULL, then these do nothing ----

void store_changes_begin(struct store_changes *changes, sqlite3 *database);
void store_changes_add(struct store_changes *changes, sqlite3_stmt *statement);
// Writes the new position. Must be called right before the commit.
enum outcome store_changes_end(struct store_changes *changes, sqlite3 *database)
    __attribute__((warn_unused_result));
// Forgets the transaction.
void store_changes_drop(struct store_changes *changes);

// ---- committed changes ----

// Moves the transaction to the pending changes. Returns 0 or -ENOMEM.
int store_changes_commit(struct store_changes *changes) __attribute__((warn_unused_result));
// Takes pending changes out, as many as fit in one entry. The caller frees the bytes. Returns how
// many, or -ENOMEM.
int store_changes_take(struct store_changes *changes, struct log_entry *entry)
    __attribute__((warn_unused_result));

// ---- any database ----

// Returns false if the database has no position.
bool store_position(sqlite3 *database, struct log_position *position);
// Copies the database, with its position and schema. The caller calls sqlite3_free. NULL: error.
uint8_t *store_serialize(sqlite3 *database, struct log_head *head);

#endif
