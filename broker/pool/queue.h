// SPDX-License-Identifier: BSD-3-Clause
// The queue of waiting leases. Requests with equal bytes form a class, whose leases are granted in
// order: if the first does not fit, the others are not tried. The cost of serving the queue
// therefore depends on the number of classes, not of leases.
#ifndef RGPU_BROKER_QUEUE_H
#define RGPU_BROKER_QUEUE_H

#include "broker/pool/pool.h"

struct queue_class {
    TAILQ_ENTRY(queue_class) all;
    struct lease_list waiting; // in order of sequence; never empty
    struct request request;
    uint64_t blocked_in; // number of the last pass in which the first lease did not fit
    // no lease of the class could be granted even in an idle pool, so the class claims no GPUs
    bool impossible;
    uint64_t generation; // pool.generation + 1 for which `impossible` was computed; 0: never
    // Cached reason why the first lease waits (explain.h), or NULL. Owned.
    char *kept_reason;
    uint64_t reason_of; // queue.moment when the reason was computed
};

TAILQ_HEAD(class_list, queue_class);

struct queue {
    struct class_list classes; // ordered by the sequence of the first lease
    size_t length;
    size_t indexed; // classes that want a GPU of one index, so alike GPUs of a box differ for them
    uint64_t pass;
    uint64_t gone;    // increases when the first lease of a class leaves
    uint64_t changes; // increases when `impossible` of any class changes
    uint64_t moment;  // increases with each queue_tick
    size_t looks;     // GPUs examined for explanations since the last queue_tick
};

// Maximum lengths: of the whole queue, because each lease costs memory and a database row; and of
// the leases of one user, unless an administrator or scheduler requested them.
enum { QUEUE_MAX = 50000, QUEUE_MAX_OF_USER = 500 };

struct queue *queue_new(void);
void queue_free(struct queue **queue);
// Adds a lease. Its sequence must be above that of all leases in the queue. Returns 0 or -ENOMEM.
int queue_join(struct queue *queue, struct pool_lease *lease) __attribute__((warn_unused_result));
// Returns true if OWNER has less than QUEUE_MAX_OF_USER waiting leases.
bool queue_has_room_for(const struct queue *queue, uid_t owner);
// Makes cached reasons expire. Must be called once a second.
void queue_tick(struct queue *queue);
// Records if an idle pool could serve the class.
void queue_set_possible(struct queue *queue, struct queue_class *entry, bool possible);
// Removes a lease, if it is in the queue.
void queue_leave(struct queue *queue, struct pool_lease *lease);

#endif
