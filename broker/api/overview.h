// SPDX-License-Identifier: BSD-3-Clause
// Computes the data of the status page: figures of the pool, boxes and GPUs with problems first,
// and the requested rows of each list. The part that is the same for all viewers is computed at
// most once a second.
#ifndef RGPU_BROKER_OVERVIEW_H
#define RGPU_BROKER_OVERVIEW_H

#include <jansson.h>

#include "broker/leases/core.h"

struct overview_query {
    // Only rows with this text in a name, or a name that is this text after "="; "" for all rows.
    const char *find;
    size_t limit;                            // maximum number of rows of each list
    size_t boxes, leases, waiting, sessions; // number of rows to skip in each list
    bool map;                                // also the state of each GPU, in a letter
};

// Returns NULL if memory is exhausted.
struct overview *overview_new(void);
void overview_free(struct overview **overview);

// Returns a new reference to the answer, or NULL if memory is exhausted. `sessions` maps a box name
// to the sessions of its last report. Member "last" of the answer is the number of the last event
// that it includes.
json_t *overview_answer(struct overview *overview, const struct broker *broker, json_t *sessions,
                        const struct overview_query *query);

// Adds "user", the name of the author, to each event, and that of "owner" to its "detail". An id
// stands for a name that is not known yet.
void overview_name_users(const struct overview *overview, json_t *events);

#endif
