// SPDX-License-Identifier: BSD-3-Clause
// Stores the HTTP side's state of each box, beside the pool's.
#ifndef RGPU_BROKER_BOX_HTTP_H
#define RGPU_BROKER_BOX_HTTP_H

#include <stdint.h>

#include "broker/pool/pool.h"

struct box_http {
    char name[POOL_NAME_MAX];
    struct api_call *call; // the box's call that waits for orders, or NULL
    // Numbers of session queries (session_query.h): the last one before the box's report, the last
    // one that includes this box, and the value of `wanted` in the last answer to the box.
    int64_t query, wanted, reported;
    bool busy_kept;       // its last reported GPU time is in the database
    uint64_t suspensions; // value of pool_box.suspensions in the last answer to the box
};

// Returns the state of the box with this name; creates it if it does not exist. The root is NULL
// while there are none.
struct box_http *box_http(void **box_states, const char *name);
void box_http_remove(void **box_states, const char *name);
void box_http_free(void **box_states);

#endif
