// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the broker does, without HTTP: each operation decides on the pool, writes its change and
 * one event in one transaction, and only after the commit changes the pool. An operation that
 * fails has changed nothing, neither here nor on disk.
 */
#ifndef RGPU_BROKER_CORE_H
#define RGPU_BROKER_CORE_H

#include <jansson.h>

#include "broker/pool.h"
#include "broker/reserve.h"
#include "broker/store.h"
#include "common/metrics.h"
#include "common/ticket.h"

struct broker_limits {
    double away_seconds;      /* silence after which a box counts as away */
    int64_t ticket_seconds;   /* validity of a ticket unless asked otherwise */
    bool privacy;             /* all leases ask for it */
    int64_t max_ticket_seconds; /* longest that may be asked for */
    int64_t history_seconds;  /* how long ended leases are kept */
    int64_t keep_events;
    int64_t max_lifetime;     /* longest lifetime of a lease, 0: no limit */
};

struct broker_counters {
    uint64_t grants, refusals, queued, releases, revocations, expirations, tickets, errors;
};

struct broker {
    struct store *store;
    struct pool *pool;
    struct broker_limits limits;
    struct broker_counters counters;
    struct histogram commits;
    struct ticket_keyring keys; /* of the cluster; count 0: no tickets */
    char run[33];               /* of this start, see history.h */
    int64_t epoch;
    uint64_t last_sequence;     /* in the queue */
    int64_t last_event;
    bool queue_dirty;           /* capacity may have come free */
    int broken;                 /* -EUCLEAN once the database turned out damaged */
    int64_t wall_minus_steady;  /* to notice that the wall clock was changed */
    double next_trim, last_tick;
    struct reserve reserve;
    bool disk_full;             /* leases end, nothing else is changed */
    int storage_error;          /* of the last change or probe, 0: it worked */
    double next_probe, durable_at;
    uint64_t last_durable;
};

int broker_open(const char *path, bool full_sync, struct broker *broker)
    __attribute__((warn_unused_result));
void broker_close(struct broker *broker);

int64_t broker_wall(void);   /* seconds since 1970 */
double broker_steady(void);  /* monotonic seconds */

/* Who asks for a change, for the event log: "admin uid=0", "box gpu01", "broker". */
struct change {
    const char *kind, *actor;
    const struct pool_box *box;
    const struct pool_gpu *gpu;
    const struct pool_lease *lease;
    json_t *detail; /* taken over by broker_commit and broker_abandon */
};

/* Used by the files of the core only. On a full disk only what makes GPUs free is begun. */
int broker_begin(struct broker *broker) __attribute__((warn_unused_result));
int broker_begin_release(struct broker *broker) __attribute__((warn_unused_result));
/* Writes the event unless `error`, and commits; else rolls back. Returns what went wrong. */
int broker_commit(struct broker *broker, int error, const struct change *change)
    __attribute__((warn_unused_result));

/* ---- storage ---- */

void broker_note_storage(struct broker *broker, int error);
/* Looks anew where it was full. */
bool broker_has_room(struct broker *broker);
/* Now and then writes something, so that a disk that is full or fails is known before it is needed. */
void broker_watch_storage(struct broker *broker);
/* "ok", or a word for what is wrong, as /healthz says it, and *why. */
const char *broker_storage_state(const struct broker *broker, const char **why);

/* ---- leases ---- */

struct acquire {
    const char *key, *job, *actor;
    int64_t key_owner;
    uid_t owner;
    struct request request;
    int64_t lifetime; /* seconds from the grant (and, while queued, from the request); 0: none */
    bool wait, with_ticket;
};

/*
 * Grants, queues or refuses. A key that is known gives the lease it gave before.
 * -EAGAIN: not now; -ENOSPC (as a refusal: -E2BIG): can never be; -EEXIST: the key was used for
 * another request; -ESTALE: the key's lease has ended already; else of store.h.
 */
int broker_acquire(struct broker *broker, const struct acquire *acquire, struct pool_lease **lease)
    __attribute__((warn_unused_result));

/* Starts the end of a lease; it is over when every box has confirmed. Ended ones are freed:
 * *lease is NULL afterwards when that happened at once. */
int broker_end_lease(struct broker *broker, struct pool_lease **lease, const char *reason,
                     const char *actor) __attribute__((warn_unused_result));

/* Remembers that a key was released before it was acquired: the late acquire gets nothing. */
int broker_release_unknown(struct broker *broker, int64_t key_owner, const char *key, uid_t owner,
                           const char *actor) __attribute__((warn_unused_result));

int broker_renew(struct broker *broker, struct pool_lease *lease, int64_t lifetime,
                 const char *actor) __attribute__((warn_unused_result));

/* Gives what is free to those who wait. */
void broker_serve_queue(struct broker *broker);

#define LIFETIME_MAX INT64_C(3153600000) /* a hundred years, of a lease */

/* A bundle (see common/ticket.h) for a granted lease; the caller frees it. `chosen`: for each place
 * in the lease whether the ticket opens that GPU; NULL: all. -ENOKEY: no key; -ERANGE: a ticket may
 * not be valid for so long. */
int broker_issue_ticket(struct broker *broker, struct pool_lease *lease, const bool *chosen,
                        int64_t seconds, const char *actor, char **bundle)
    __attribute__((warn_unused_result));
/* The bundle itself, for a lease whose ticket_until covers `until`, which is within the limit. */
int broker_write_ticket(struct broker *broker, const struct pool_lease *lease, const bool *chosen,
                        int64_t until, char **bundle) __attribute__((warn_unused_result));

/* ---- boxes ---- */

/* A box's description of itself, from JSON; see docs/broker-api.md. -EINVAL: *why says what is
 * wrong; -EEXIST: a GPU or the name is in use by a box that is there. */
int broker_register(struct broker *broker, const char *name, const json_t *body, const char *actor,
                    const char **why) __attribute__((warn_unused_result));

#define HISTORY_AHEAD_MAX 86400 /* seconds that an epoch may be ahead of this clock */

/* Registered since the present epoch began. */
bool broker_knows_box(const struct broker *broker, const struct pool_box *box);

/* What a box says of its sessions: leases (strings) that it runs, and those whose end it has
 * completed, and whether it takes new sessions. -ESTALE: it must register first. */
int broker_hear(struct broker *broker, struct pool_box *box, const char *instance,
                const json_t *running, const json_t *ended, bool accepting, const char *actor)
    __attribute__((warn_unused_result));

/* Leases that a box must end: [{"lease":, "until":}]. `running` as above. */
json_t *broker_revocations(struct broker *broker, struct pool_box *box, const json_t *running);

int broker_drain_box(struct broker *broker, struct pool_box *box, bool drained, bool force,
                     const char *actor) __attribute__((warn_unused_result));
int broker_drain_gpu(struct broker *broker, struct pool_gpu *gpu, bool drained, bool force,
                     const char *actor) __attribute__((warn_unused_result));
/* -EBUSY (as a refusal: -ETXTBSY) while somebody holds the GPU. */
int broker_set_mode(struct broker *broker, struct pool_gpu *gpu, enum gpu_mode mode, bool automatic,
                    const char *actor) __attribute__((warn_unused_result));
/* The administrator's word that nothing runs on an absent box any more. -EISCONN if it is there. */
int broker_box_gone(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));
/* Forgets an absent box of which no lease knows. */
int broker_remove_box(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));

/* Once a second: expiry, boxes fallen silent, clock changes, trimming. */
void broker_tick(struct broker *broker);

#endif
