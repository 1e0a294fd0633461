// SPDX-License-Identifier: BSD-3-Clause
// Keeps the set of contexts that a node, a graph or an instantiated graph needs (context_set.c).
// The client's handles name contexts: unlike the driver's addresses they are never used again.
#ifndef RGPU_WORKER_CONTEXT_SET_H
#define RGPU_WORKER_CONTEXT_SET_H

#include <stdbool.h>
#include <stdint.h>

struct context_set {
    uint64_t first; // 0: none; nearly always the only one
    uint64_t *more;
    uint32_t more_count;
};

// Adds a context; 0 adds nothing. Returns false if memory runs out.
bool context_set_add(struct context_set *set, uint64_t context) __attribute__((warn_unused_result));
bool context_set_join(struct context_set *set, const struct context_set *other)
    __attribute__((warn_unused_result));
// Returns true if all contexts of the set are alive.
bool context_set_lives(const struct context_set *set);
void context_set_clear(struct context_set *set);

#endif
