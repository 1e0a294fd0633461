// SPDX-License-Identifier: BSD-3-Clause
// The pool at the size of a page: figures, problems first, and of each list the rows that somebody looks
// at. What is the same for all who look is made at most once a second, however many they are.
#ifndef RGPU_BROKER_OVERVIEW_H
#define RGPU_BROKER_OVERVIEW_H

#include <jansson.h>

#include "broker/core.h"

struct overview_query {
    const char *find;                        // rows with this in a name; "" for all
    size_t limit;                            // rows of each list
    size_t boxes, leases, waiting, sessions; // the first row that is asked for
};

// NULL: out of memory.
struct overview *overview_new(void);
void overview_free(struct overview **overview);

// `sessions`: by box, as it reported them. "last" in the answer: the event up to which it is complete.
json_t *overview_answer(struct overview *overview, const struct broker *broker, json_t *sessions,
                        const struct overview_query *query);

#endif
