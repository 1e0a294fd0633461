// SPDX-License-Identifier: BSD-3-Clause
// Stores the broker's state in an SQLite database. A change is a transaction from store_begin to
// store_commit with one event (store_add_event). Clients get the answer to a change once the commit
// is durable. All functions log errors and return the outcome. For one thread only.
#ifndef RGPU_BROKER_STORE_H
#define RGPU_BROKER_STORE_H

#include <jansson.h>
#include <stdatomic.h>

#include "broker/pool/outcome.h"
#include "broker/pool/pool.h"

struct store;
struct replication;

// Opens or creates the database at PATH and updates its schema. store_load must follow; it detects
// damage. FULL_SYNC: a thread syncs commits to disk; otherwise a commit counts as durable once the
// kernel has it. With a REPLICATION that leads, a commit counts as durable once a majority of etcd
// has it, whatever FULL_SYNC is.
enum outcome store_open(const char *path, bool full_sync, struct replication *replication,
                        struct store **store) __attribute__((warn_unused_result));
// Returns the schema of databases that this program writes.
int64_t store_schema(void);
void store_close(struct store **store);

enum outcome store_begin(struct store *store) __attribute__((warn_unused_result));
enum outcome store_commit(struct store *store) __attribute__((warn_unused_result));
void store_rollback(struct store *store);

// Return the number of commits, and of durable commits. The thread syncs many commits at once.
// STORE may be NULL, of which there are no commits.
uint64_t store_committed(struct store *store);
uint64_t store_durable(struct store *store);
// Returns an eventfd that becomes readable when more commits are durable.
int store_durable_fd(const struct store *store);
void store_await_durable(struct store *store);

// ---- copies; PATH may be open in a broker. Return 0 or -errno and log errors ----

// Writes a consistent copy of the database to COPY, and replaces a file of that name once the copy
// is complete and checked.
int store_backup(const char *path, const char *copy) __attribute__((warn_unused_result));
// Moves the log beside an unused database into it, as far as both are sound.
void store_fold(const char *path);
// Checks a database. Returns -EUCLEAN if it is damaged or violates the broker's rules.
int store_check(const char *path) __attribute__((warn_unused_result));

// ---- following another broker (replication.h) ----

// Copies the log of changes into the database at PATH, as it grows, until this broker leads. If the
// database is not an earlier state of the log's, the newest snapshot takes its place. Returns true
// once this broker leads, false if *STOP was set before.
bool store_follow(const char *path, struct replication *replication, const atomic_bool *stop)
    __attribute__((warn_unused_result));

// ---- loading at start ----

// Fills the pool with boxes, GPUs, and leases that have not ended. Returns OUTCOME_DATABASE_DAMAGED
// if any part of the database is damaged, even one that is not loaded.
enum outcome store_load(struct store *store, struct pool *pool) __attribute__((warn_unused_result));

// ---- history (history.h) ----

int64_t store_epoch(struct store *store);
// Returns the epoch of a time: an epoch is the second in which it began, or later (history.h).
int64_t store_epoch_at(struct store *store, int64_t time);
enum outcome store_add_epoch(struct store *store, int64_t epoch, int64_t now)
    __attribute__((warn_unused_result));
enum outcome store_add_run(struct store *store, const char *id, int64_t after_event, int64_t now)
    __attribute__((warn_unused_result));
// Sets *EVENT to the last event of an earlier run. Returns OUTCOME_NOT_FOUND for an unknown run.
enum outcome store_end_of_run(struct store *store, const char *id, int64_t *event)
    __attribute__((warn_unused_result));

// ---- changes ----

struct store_event {
    const char *kind, *box, *gpu, *lease, *actor; // name or id; box, gpu and lease may be NULL
    json_t *detail;                               // may be NULL; stays with the caller
};

enum outcome store_add_event(struct store *store, int64_t now, const struct store_event *event)
    __attribute__((warn_unused_result));
enum outcome store_put_box(struct store *store, const struct pool_box *box)
    __attribute__((warn_unused_result));
enum outcome store_put_gpu(struct store *store, const struct pool_gpu *gpu)
    __attribute__((warn_unused_result));
enum outcome store_delete_gpu(struct store *store, const char *uuid)
    __attribute__((warn_unused_result));
enum outcome store_delete_box(struct store *store, const char *name)
    __attribute__((warn_unused_result));
// Writes the drain of box or GPU.
enum outcome store_set_box_drained(struct store *store, const struct pool_box *box)
    __attribute__((warn_unused_result));
enum outcome store_set_gpu_drained(struct store *store, const struct pool_gpu *gpu)
    __attribute__((warn_unused_result));
enum outcome store_set_gpu_mode(struct store *store, const char *uuid, enum gpu_mode mode,
                                bool automatic) __attribute__((warn_unused_result));
enum outcome store_set_gpu_present(struct store *store, const char *uuid, bool present)
    __attribute__((warn_unused_result));
enum outcome store_insert_lease(struct store *store, const struct pool_lease *lease)
    __attribute__((warn_unused_result));
// Writes the columns of the lease with role COLUMN_CHANGES, and its new state.
enum outcome store_update_lease(struct store *store, const struct pool_lease *lease,
                                enum lease_state state, const char *reason, int64_t now)
    __attribute__((warn_unused_result));
enum outcome store_insert_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
enum outcome store_release_hold(struct store *store, const char *lease, uint32_t ordinal)
    __attribute__((warn_unused_result));
// Marks a hold as held again when its suspended lease resumes.
enum outcome store_retake_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Writes hold->target, which may be NULL.
enum outcome store_set_target(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Writes a hold whose GPU has changed.
enum outcome store_put_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Adds SECONDS to the expiry of every live lease, after the wall clock was set.
enum outcome store_shift_expiry(struct store *store, int64_t seconds)
    __attribute__((warn_unused_result));
// Writes a row that has no other use, to test the disk.
enum outcome store_probe(struct store *store, int64_t now) __attribute__((warn_unused_result));
// Deletes leases that ended before BEFORE, and all events but the last KEEP. The use by these
// leases is kept, summed up by days.
enum outcome store_trim(struct store *store, int64_t before, uint64_t keep)
    __attribute__((warn_unused_result));

// ---- queries; each returns a new reference, or NULL if there is no result or an error ----

// Returns the error of a query since the last call of this function. Until then nothing can be
// committed, so that no change rests on rows that could not be read. STORE may be NULL.
enum outcome store_take_read_error(struct store *store);

// Return an ended lease as the API shows it, with its key and "key_owner".
json_t *store_ended_lease(struct store *store, const char *id);
json_t *store_ended_key(struct store *store, int64_t key_owner, const char *key);
json_t *store_ended_leases(struct store *store, int64_t owner, size_t limit);

// Returns the usage between `from` and `to` (seconds since 1970), with one row for each owner,
// account or lease: {"owner":, "account":, "lease":, "job":, "leases":, "gpu_hours":,
// "memory_gib_hours":, "busy_gpu_hours":, "bytes_in":, "bytes_out":, "estimated":,
// "waited_seconds":}. Leases that are deleted count by whole days, and not by lease.
enum usage_by { USAGE_BY_OWNER, USAGE_BY_ACCOUNT, USAGE_BY_LEASE };
struct usage_query {
    int64_t from, to, now;
    int64_t owner; // user id; -1: all users
    enum usage_by by;
};
json_t *store_usage(struct store *store, const struct usage_query *query);

// GPU time of a lease, the energy of its GPUs, and the bytes of its sessions over the network, as
// counted by one of its boxes.
struct busy_count {
    const char *lease, *box;
    const char *name; // name of the count; a new name starts at 0
    int64_t milliseconds, millijoules, bytes_in, bytes_out;
    bool estimated;
    int64_t now; // seconds since 1970
};
enum outcome store_count_busy(struct store *store, const struct busy_count *count)
    __attribute__((warn_unused_result));
// The sums of a lease.
struct busy_sum {
    const char *lease;
    int64_t owner, milliseconds, millijoules, bytes_in, bytes_out;
};
typedef void store_busy_found(void *argument, const struct busy_sum *sum);
// Calls FOUND for a lease, without its owner.
void store_busy_of(struct store *store, const char *lease, store_busy_found *found, void *argument);
// Calls FOUND for each lease that has not ended, at most MOST times.
void store_busy_of_live(struct store *store, size_t most, store_busy_found *found, void *argument);
// Returns leases that have ended on the box, and that it must still refuse because a ticket may be
// valid: [{"lease":, "until":}]. These are the leases with tickets valid after OLDEST and, without
// "until", leases from before EPOCH that ended after ENDED_AFTER, whose tickets may be unknown.
// Other boxes of the lease may still have to confirm its end.
json_t *store_revocations(struct store *store, const char *box, int64_t oldest, int64_t epoch,
                          int64_t ended_after);
// Returns at most LIMIT events after event number AFTER.
json_t *store_events(struct store *store, int64_t after, size_t limit);
// Returns the last events of the kind scheduler.named, at most LIMIT.
json_t *store_scheduler_events(struct store *store, size_t limit);
// Returns the last events, at most LIMIT, of lease LEASE, or of box BOX and the leases that had
// GPUs there; the other name is "". Renewals and tickets are left out. Only the newest events are
// searched.
json_t *store_events_about(struct store *store, const char *lease, const char *box, size_t limit);
int64_t store_last_event(struct store *store);

#endif
