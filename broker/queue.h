// SPDX-License-Identifier: BSD-3-Clause
// The queue of leases that wait. Requests of equal bytes form a class, and a class is served in
// order, so when its head does not fit nobody behind it is tried: a pass over ten thousand waiting
// leases costs as much as there are classes.
#ifndef RGPU_BROKER_QUEUE_H
#define RGPU_BROKER_QUEUE_H

#include "broker/pool.h"

struct queue_class {
    TAILQ_ENTRY(queue_class) all;
    struct lease_list waiting; // by rising sequence, never empty
    struct request request;
    uint64_t blocked_in; // last pass in which its head did not fit
    bool impossible;     // its requests cannot fit any more, so they claim nothing
    uint64_t generation; // of the pool when that was found out
    // Why its head waits, as it was found out for somebody who waits for an answer (explain.h); NULL: not yet.
    char *kept_reason;
    uint64_t reason_of; // the moment when that was
};

TAILQ_HEAD(class_list, queue_class);

struct queue {
    struct class_list classes; // by rising sequence of their heads
    size_t length;
    uint64_t pass;
    uint64_t gone;    // grows when a class loses its head
    uint64_t changes; // grows when a class begins or ceases to be impossible
    uint64_t moment;  // grows with each tick of the broker
    size_t looks;     // at GPUs, for reasons to be kept, in this moment
};

// How many may wait: in all, as each costs memory and a row of the database, and of those that users
// who are neither administrators nor schedulers have asked for, of one owner.
enum { QUEUE_MAX = 50000, QUEUE_MAX_OF_USER = 500 };

struct queue *queue_new(void);
void queue_free(struct queue **queue);
// The lease's sequence must be higher than that of all that wait.
int queue_join(struct queue *queue, struct pool_lease *lease) __attribute__((warn_unused_result));
// Returns true if one more may wait for OWNER, at his own request.
bool queue_has_room_for(const struct queue *queue, uid_t owner);
// A second has passed: reasons that were kept are old.
void queue_tick(struct queue *queue);
// Whether a class can be served at all, by the pool as it is.
void queue_set_possible(struct queue *queue, struct queue_class *entry, bool possible);
// Does nothing for a lease that does not wait.
void queue_leave(struct queue *queue, struct pool_lease *lease);

#endif
