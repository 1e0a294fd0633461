// SPDX-License-Identifier: BSD-3-Clause
// Set of contexts that a node, graph or executable graph needs. It contains handles of the client,
// which, unlike the driver's addresses, are never reused.
#ifndef RGPU_WORKER_CONTEXT_SET_H
#define RGPU_WORKER_CONTEXT_SET_H

#include <stdbool.h>
#include <stdint.h>

struct context_set {
    uint64_t first; // 0: empty; most sets have one element
    uint64_t *more;
    uint32_t more_count;
};

// Adds a context; 0 adds nothing. Returns false if memory is exhausted.
bool context_set_add(struct context_set *set, uint64_t context) __attribute__((warn_unused_result));
bool context_set_join(struct context_set *set, const struct context_set *other)
    __attribute__((warn_unused_result));
// Returns true if no context of the set has ended.
bool context_set_lives(const struct context_set *set);
void context_set_clear(struct context_set *set);

#endif
