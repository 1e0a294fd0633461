// SPDX-License-Identifier: BSD-3-Clause
// Holds the queue of waiting leases. Requests of equal bytes form a class, which is served in
// order: if its head does not fit, no other lease of the class is tried. A pass over ten thousand
// waiting leases therefore costs only as much as there are classes.
#ifndef RGPU_BROKER_QUEUE_H
#define RGPU_BROKER_QUEUE_H

#include "broker/pool/pool.h"

struct queue_class {
    TAILQ_ENTRY(queue_class) all;
    struct lease_list waiting; // by rising sequence, never empty
    struct request request;
    uint64_t blocked_in; // last pass in which its head did not fit
    bool impossible;     // the present pool can never serve it, so it makes no claims
    uint64_t generation; // pool.generation + 1 for which `impossible` holds; 0: unknown
    // Cached reason why its head waits (explain.h), or NULL.
    char *kept_reason;
    uint64_t reason_of; // queue.moment of the cached reason
};

TAILQ_HEAD(class_list, queue_class);

struct queue {
    struct class_list classes; // in the order of their heads' sequences
    size_t length;
    uint64_t pass;
    uint64_t gone;    // increases when the first lease of a class leaves the queue
    uint64_t changes; // increases when `impossible` of a class changes
    uint64_t moment;  // increases with each queue_tick
    size_t looks;     // GPUs examined to compute reasons since the last queue_tick
};

// Limits of the queue: in all, because each lease takes memory and a database row; and for each
// owner, counting requests by users without the role of administrator or scheduler.
enum { QUEUE_MAX = 50000, QUEUE_MAX_OF_USER = 500 };

struct queue *queue_new(void);
void queue_free(struct queue **queue);
// Adds a lease, whose sequence must be higher than that of all waiting leases.
int queue_join(struct queue *queue, struct pool_lease *lease) __attribute__((warn_unused_result));
// Returns true if OWNER may queue another lease of their own.
bool queue_has_room_for(const struct queue *queue, uid_t owner);
// Makes cached reasons expire. The broker calls this once a second.
void queue_tick(struct queue *queue);
// Records if the present pool can ever serve the class.
void queue_set_possible(struct queue *queue, struct queue_class *entry, bool possible);
// Removes a lease; does nothing if it is not in the queue.
void queue_leave(struct queue *queue, struct pool_lease *lease);

#endif
