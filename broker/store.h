// SPDX-License-Identifier: BSD-3-Clause
// The broker's database: beside the files of the store nothing knows SQL. Every change happens between
// store_begin and store_commit and writes exactly one event; nothing counts before store_commit has
// returned OUTCOME_DONE, and nobody is told before it is durable. What goes wrong is logged where it
// occurs.
#ifndef RGPU_BROKER_STORE_H
#define RGPU_BROKER_STORE_H

#include <jansson.h>

#include "broker/outcome.h"
#include "broker/pool.h"

struct store;

// Opens or creates the database at `path` and brings its schema up to date. store_load comes next, and
// says whether it is damaged. `full_sync`: commits become durable soon after they were made; else they
// count as durable at once, in the kernel's hands.
enum outcome store_open(const char *path, bool full_sync, struct store **store)
    __attribute__((warn_unused_result));
void store_close(struct store **store);

enum outcome store_begin(struct store *store) __attribute__((warn_unused_result));
enum outcome store_commit(struct store *store) __attribute__((warn_unused_result));
void store_rollback(struct store *store);

// Commits so far, and how many of them survive a power cut. Any number become durable with one sync
// of the disk, which nothing here waits for.
uint64_t store_committed(struct store *store);
uint64_t store_durable(struct store *store);
int store_durable_fd(const struct store *store); // readable when there are more, an eventfd; or -1
void store_await_durable(struct store *store);

// ---- copies, also while a broker has the database open; they log what they find ----

// A copy of one moment at `copy`, which takes the place of a file of that name once it is complete and
// sound.
int store_backup(const char *path, const char *copy) __attribute__((warn_unused_result));
// -EUCLEAN: the database is damaged, or does not hold what the broker promises.
int store_check(const char *path) __attribute__((warn_unused_result));

// ---- reading everything at start ----

// Fills the pool with boxes, GPUs, and leases that have not ended. OUTCOME_DATABASE_DAMAGED also where it is
// another part of the database that is damaged.
enum outcome store_load(struct store *store, struct pool *pool) __attribute__((warn_unused_result));

// ---- history (history.h) ----

int64_t store_epoch(struct store *store);
enum outcome store_add_epoch(struct store *store, int64_t epoch, int64_t now)
    __attribute__((warn_unused_result));
enum outcome store_add_run(struct store *store, const char *id, int64_t after_event, int64_t now)
    __attribute__((warn_unused_result));
// The last event of a run before the present one. OUTCOME_NOT_FOUND: there was none of that id.
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
// Writes whether it is drained, and why.
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
// Writes again what changes of a lease that is there, which is to be in that state.
enum outcome store_update_lease(struct store *store, const struct pool_lease *lease,
                                enum lease_state state, const char *reason, int64_t now)
    __attribute__((warn_unused_result));
enum outcome store_insert_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
enum outcome store_release_hold(struct store *store, const char *lease, uint32_t ordinal)
    __attribute__((warn_unused_result));
// One that was given back while its lease was suspended.
enum outcome store_retake_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Writes to which GPU it is to go, or to none.
enum outcome store_set_target(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// One that is on another GPU than before, held or not.
enum outcome store_put_hold(struct store *store, const char *lease, const struct pool_hold *hold)
    __attribute__((warn_unused_result));
// Moves the end of every live lease by `seconds`: the wall clock was changed under us.
enum outcome store_shift_expiry(struct store *store, int64_t seconds)
    __attribute__((warn_unused_result));
// Writes something, to know whether that can be done.
enum outcome store_probe(struct store *store, int64_t now) __attribute__((warn_unused_result));
// Forgets leases that ended before `before` and all but the last `keep` events.
enum outcome store_trim(struct store *store, int64_t before, uint64_t keep)
    __attribute__((warn_unused_result));

// ---- reading what is no longer in memory; NULL when there is nothing or on error ----

// One ended lease by id or by key, as the API shows it, with its key and "key_owner".
json_t *store_ended_lease(struct store *store, const char *id);
json_t *store_ended_key(struct store *store, int64_t key_owner, const char *key);
json_t *store_ended_leases(struct store *store, int64_t owner, size_t limit);

// What leases had from `from` to `to`, as far as ended leases are kept: a row for each owner, account or lease, of
// {"owner":, "account":, "lease":, "job":, "leases":, "gpu_hours":, "memory_gib_hours":, "busy_gpu_hours":, "estimated":,
// "waited_seconds":}.
enum usage_by { USAGE_BY_OWNER, USAGE_BY_ACCOUNT, USAGE_BY_LEASE };
struct usage_query {
    int64_t from, to, now;
    int64_t owner; // -1: everybody
    enum usage_by by;
};
json_t *store_usage(struct store *store, const struct usage_query *query);

// How far a box's count of a lease's GPU time is.
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
typedef void store_busy_told(void *argument, const char *lease, int64_t owner,
                             int64_t milliseconds);
// Of leases that have not ended, up to so many.
void store_busy_of_live(struct store *store, size_t most, store_busy_told *told, void *argument);
// Leases that ended while tickets for the box may still be valid, [{"lease":, "until":}]: until after
// `oldest`; without "until", where nobody knows, those of before `epoch` that ended after
// `ended_after`.
json_t *store_revocations(struct store *store, const char *box, int64_t oldest, int64_t epoch,
                          int64_t ended_after);
// Events after `after`, at most `limit`. `owner` >= 0: only those of his leases.
json_t *store_events(struct store *store, int64_t after, size_t limit, int64_t owner);
int64_t store_last_event(struct store *store);

#endif
