// SPDX-License-Identifier: BSD-3-Clause
// Computes an overview of the pool for one page: figures, problems first, and the requested rows of
// each list. The parts that are the same for all viewers are computed at most once a second.
#ifndef RGPU_BROKER_OVERVIEW_H
#define RGPU_BROKER_OVERVIEW_H

#include <jansson.h>

#include "broker/leases/core.h"

struct overview_query {
    const char *find;                        // rows that contain this in a name; "" for all
    size_t limit;                            // rows of each list
    size_t boxes, leases, waiting, sessions; // index of the first requested row
};

// Returns NULL without memory.
struct overview *overview_new(void);
void overview_free(struct overview **overview);

// `sessions`: by box, from its last report. "last" in the answer is the last event that the answer
// includes.
json_t *overview_answer(struct overview *overview, const struct broker *broker, json_t *sessions,
                        const struct overview_query *query);

#endif
