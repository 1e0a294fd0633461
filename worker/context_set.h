// SPDX-License-Identifier: BSD-3-Clause
// Which contexts something needs: a node, a graph, what was instantiated of it. Contexts are named by the client's
// handles, which no later context has, whatever address the driver gives it (context_set.c).
#ifndef RGPU_WORKER_CONTEXT_SET_H
#define RGPU_WORKER_CONTEXT_SET_H

#include <stdbool.h>
#include <stdint.h>

struct context_set {
    uint64_t first; // 0: none; nearly always the only one
    uint64_t *more;
    uint32_t more_count;
};

// 0 is no context and adds nothing. False: no memory.
bool context_set_add(struct context_set *set, uint64_t context) __attribute__((warn_unused_result));
bool context_set_join(struct context_set *set, const struct context_set *other)
    __attribute__((warn_unused_result));
// Whether all of them are there.
bool context_set_lives(const struct context_set *set);
void context_set_clear(struct context_set *set);

#endif
