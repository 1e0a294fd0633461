// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_class(struct queue_class *entry)
{
    free(entry->kept_reason);
    free(entry);
}

struct queue *queue_new(void)
{
    struct queue *queue = calloc(1, sizeof(*queue));

    if (!queue)
        return NULL;
    TAILQ_INIT(&queue->classes);
    queue->moment = 1;
    return queue;
}

void queue_free(struct queue **queue)
{
    struct queue_class *entry;

    if (!*queue)
        return;
    while ((entry = TAILQ_FIRST(&(*queue)->classes))) {
        TAILQ_REMOVE(&(*queue)->classes, entry, all);
        free_class(entry);
    }
    free(*queue);
    *queue = NULL;
}

static struct queue_class *find_class(struct queue *queue, const struct request *request)
{
    struct queue_class *entry;

    TAILQ_FOREACH(entry, &queue->classes, all)
        if (!memcmp(&entry->request, request, sizeof(*request)))
            return entry;
    return NULL;
}

int queue_join(struct queue *queue, struct pool_lease *lease)
{
    struct queue_class *entry = find_class(queue, &lease->request);

    if (!entry) {
        entry = calloc(1, sizeof(*entry));
        if (!entry)
            return -ENOMEM;
        TAILQ_INIT(&entry->waiting);
        memcpy(&entry->request, &lease->request, sizeof(entry->request));
        TAILQ_INSERT_TAIL(&queue->classes, entry, all);
        queue->indexed += entry->request.index > 0;
    }
    TAILQ_INSERT_TAIL(&entry->waiting, lease, waiting);
    lease->queue_class = entry;
    queue->length++;
    return 0;
}

bool queue_has_room_for(const struct queue *queue, uid_t owner)
{
    const struct queue_class *entry;
    const struct pool_lease *lease;
    size_t count = 0;

    TAILQ_FOREACH(entry, &queue->classes, all)
        TAILQ_FOREACH(lease, &entry->waiting, waiting)
            count += lease->owner == owner;
    return count < QUEUE_MAX_OF_USER;
}

void queue_tick(struct queue *queue)
{
    queue->moment++;
    queue->looks = 0;
}

void queue_set_possible(struct queue *queue, struct queue_class *entry, bool possible)
{
    queue->changes += entry->impossible == possible;
    entry->impossible = !possible;
}

// Puts a class whose head has changed back where its new head belongs.
static void sort_in(struct queue *queue, struct queue_class *entry)
{
    uint64_t sequence = TAILQ_FIRST(&entry->waiting)->sequence;
    struct queue_class *other;

    TAILQ_REMOVE(&queue->classes, entry, all);
    TAILQ_FOREACH(other, &queue->classes, all) {
        if (TAILQ_FIRST(&other->waiting)->sequence > sequence) {
            TAILQ_INSERT_BEFORE(other, entry, all);
            return;
        }
    }
    TAILQ_INSERT_TAIL(&queue->classes, entry, all);
}

void queue_leave(struct queue *queue, struct pool_lease *lease)
{
    struct queue_class *entry = lease->queue_class;
    bool was_head;

    if (!entry)
        return;
    was_head = TAILQ_FIRST(&entry->waiting) == lease;
    queue->gone += was_head;
    TAILQ_REMOVE(&entry->waiting, lease, waiting);
    lease->queue_class = NULL;
    queue->length--;
    if (TAILQ_EMPTY(&entry->waiting)) {
        queue->indexed -= entry->request.index > 0;
        TAILQ_REMOVE(&queue->classes, entry, all);
        free_class(entry);
    } else if (was_head) {
        sort_in(queue, entry);
    }
}
