// SPDX-License-Identifier: BSD-3-Clause
// Keeps the brokers of a site in step through etcd: one of them leads, writes each change to a log
// that a majority of etcd's members has, and the others read it. etcd's lease on the leader's key
// decides who leads, and each write to the log is conditional on that key.
//
// A position is the number of a change and the term of the leader that made it. The term is the
// revision of etcd at which its leader took the key, so no two leaders have the same. A snapshot is
// a copy of the database at a position, so that the log can be cut.
#ifndef RGPU_BROKER_REPLICATION_H
#define RGPU_BROKER_REPLICATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/replication/etcd.h"
#include "broker/replication/log_position.h"

struct replication;

// Starts a thread that keeps this broker's lease in etcd, named after the host and LISTEN's port.
// It ends the process if the broker led and has lost the lease, or has reached no majority of etcd
// for a few seconds. ACCESS must outlive it. Returns 0 or -errno after logging.
int replication_open(const struct etcd_access *access, char *const *listen,
                     struct replication **out) __attribute__((warn_unused_result));
// Gives the lead and the lease back.
void replication_close(struct replication **replication);

// Returns false if no majority of etcd has answered for a while. Any thread.
bool replication_has_majority(struct replication *replication);
// Returns {"role":, "leader":, "position":, "brokers": [{"name":, "position":}]}, a new reference.
// Any thread.
json_t *replication_status(struct replication *replication);

// Takes the lead if no broker has it. Returns true if this broker leads now.
bool replication_lead(struct replication *replication);
// Reports the position up to which this broker's database follows the log.
void replication_note(struct replication *replication, struct log_position position);

// Returns this broker's term if it leads, else 0.
uint64_t replication_term(struct replication *replication);
// Returns the schema of the snapshot as it was last read, 0 if there is none.
int64_t replication_schema(const struct replication *replication);

#endif
