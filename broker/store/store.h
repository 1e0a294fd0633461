// SPDX-License-Identifier: BSD-3-Clause
// Stores the broker's state in a database; only the files of the store know SQL. Every change
// happens between store_begin and store_commit and writes exactly one event. A change is valid once
// store_commit has returned OUTCOME_DONE, and clients get an answer once it is durable. The store
// logs errors itself.
#ifndef RGPU_BROKER_STORE_H
#define RGPU_BROKER_STORE_H

#include <jansson.h>

#include "broker/pool/outcome.h"
#include "broker/pool/pool.h"

struct store;

// Opens or creates the database at `path` and updates its schema. store_load must follow; it
// detects damage. `full_sync`: commits become durable shortly after they are made; otherwise they
// count as durable as soon as the kernel has them.
enum outcome store_open(const char *path, bool full_sync, struct store **store)
    __attribute__((warn_unused_result));
void store_close(struct store **store);

enum outcome store_begin(struct store *store) __attribute__((warn_unused_result));
enum outcome store_commit(struct store *store) __attribute__((warn_unused_result));
void store_rollback(struct store *store);

// Return the number of commits, and of those that survive a power failure. One disk sync makes all
// earlier commits durable; no function here waits for it except store_await_durable.
uint64_t store_committed(struct store *store);
uint64_t store_durable(struct store *store);
// eventfd, readable when more commits are durable; or -1
int store_durable_fd(const struct store *store);
void store_await_durable(struct store *store);

// ---- copies, also while a broker has the database open; errors are logged ----

// Writes a consistent copy to `copy`. The copy replaces a file of that name once it is complete and
// sound.
int store_backup(const char *path, const char *copy) __attribute__((warn_unused_result));
// Checks the database. -EUCLEAN: it is damaged, or violates the broker's rules.
int store_check(const char *path) __attribute__((warn_unused_result));

// ---- reading everything at start ----

// Fills the pool with boxes, GPUs, and leases that have not ended. OUTCOME_DATABASE_DAMAGED: any
// part of the database is damaged, including parts that are not loaded.
enum outcome store_load(struct store *store, struct pool *pool) __attribute__((warn_unused_result));

// ---- history (history.h) ----

int64_t store_epoch(struct store *store);
enum outcome store_add_epoch(struct store *store, int64_t epoch, int64_t now)
    __attribute__((warn_unused_result));
enum outcome store_add_run(struct store *store, const char *id, int64_t after_event, int64_t now)
    __attribute__((warn_unused_result));
// Sets *event to the last event of an earlier run. OUTCOME_NOT_FOUND: the database does not know
// the run.
enum outcome store_end_of_run(struct store *store, const char *id, int64_t *event)
    __attribute__((warn_unused_result));

// ---- changes ----

struct store_event {
    const char *kind, *box, *gpu, *lease, *actor; // box, gpu, lease may be NULL
    json_t *detail;                               // borrowed, may be NULL
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
// Writes the drain and its reason.
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
// Updates the columns of an existing lease that can change, with the given state.
enum outcome store_update_lease(struct store *store, const struct pool_lease *lease,
                                enum lease_state state, const char *reason, int64_t now)
    __attribute__((warn_unused_result));
enum outcome store_insert_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
enum outcome store_release_hold(struct store *store, const char *lease, uint32_t ordinal)
    __attribute__((warn_unused_result));
// Marks a hold as held again after its lease was suspended.
enum outcome store_retake_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Writes the GPU that the hold moves to, or none.
enum outcome store_set_target(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Writes a hold that is on another GPU than before, held or not.
enum outcome store_put_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Moves the expiry of every live lease by `seconds`, because the wall clock was changed.
enum outcome store_shift_expiry(struct store *store, int64_t seconds)
    __attribute__((warn_unused_result));
// Writes a probe, to detect if writes are possible.
enum outcome store_probe(struct store *store, int64_t now) __attribute__((warn_unused_result));
// Deletes leases that ended before `before`, and all but the last `keep` events.
enum outcome store_trim(struct store *store, int64_t before, uint64_t keep)
    __attribute__((warn_unused_result));

// ---- reading from disk; NULL if there is nothing, or on error ----

// Returns an ended lease by id or by key, as the API shows it, with its key and "key_owner".
json_t *store_ended_lease(struct store *store, const char *id);
json_t *store_ended_key(struct store *store, int64_t key_owner, const char *key);
json_t *store_ended_leases(struct store *store, int64_t owner, size_t limit);

// Returns the usage of leases between `from` and `to`, as far as ended leases are kept. There is
// one row for each owner, account or lease: {"owner":, "account":, "lease":, "job":, "leases":,
// "gpu_hours":, "memory_gib_hours":, "busy_gpu_hours":, "estimated":, "waited_seconds":}.
enum usage_by { USAGE_BY_OWNER, USAGE_BY_ACCOUNT, USAGE_BY_LEASE };
struct usage_query {
    int64_t from, to, now;
    int64_t owner; // -1: everybody
    enum usage_by by;
};
json_t *store_usage(struct store *store, const struct usage_query *query);

// The value of a box's count of a lease's GPU time.
struct busy_count {
    const char *lease, *box;
    const char *name; // of the count: another name begins at 0
    int64_t milliseconds;
    bool estimated;
    int64_t now; // seconds since 1970
};
enum outcome store_count_busy(struct store *store, const struct busy_count *count)
    __attribute__((warn_unused_result));
int64_t store_busy_of(struct store *store, const char *lease); // milliseconds
typedef void store_busy_found(void *argument, const char *lease, int64_t owner,
                              int64_t milliseconds);
// Calls `found` for leases that have not ended, at most `most`.
void store_busy_of_live(struct store *store, size_t most, store_busy_found *found, void *argument);
// Lists leases that ended while tickets for the box may still be valid: [{"lease":, "until":}].
// Includes leases whose tickets are valid after `oldest`, and, without "until", leases from before
// `epoch` that ended after `ended_after`, because their tickets may be unknown.
json_t *store_revocations(struct store *store, const char *box, int64_t oldest, int64_t epoch,
                          int64_t ended_after);
// Returns events after `after`, at most `limit`; if `owner` >= 0, only those of the owner's leases.
json_t *store_events(struct store *store, int64_t after, size_t limit, int64_t owner);
int64_t store_last_event(struct store *store);

#endif
