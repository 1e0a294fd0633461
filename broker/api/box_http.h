// SPDX-License-Identifier: BSD-3-Clause
// Stores what the HTTP server knows about each box, as a tree by box name.
#ifndef RGPU_BROKER_BOX_HTTP_H
#define RGPU_BROKER_BOX_HTTP_H

#include <stdint.h>

#include "broker/pool/pool.h"

struct box_http {
    char name[POOL_NAME_MAX];
    struct api_call *call; // waiting call in which the box receives orders, or NULL
    // Numbers of session queries (session_query.h): the last query before the box's last report,
    // the last query that concerns this box, and the query number that was last sent to the box.
    int64_t query, wanted, reported;
    bool busy_kept; // true: the GPU time that the box last reported is in the database
    // value of pool_box.suspensions when the box last received its suspensions
    uint64_t suspensions;
};

// Returns the entry for the box; creates it if necessary. *BOX_STATES is NULL for an empty tree.
struct box_http *box_http(void **box_states, const char *name);
void box_http_remove(void **box_states, const char *name);
void box_http_free(void **box_states);

#endif
