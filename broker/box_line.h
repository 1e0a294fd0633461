// SPDX-License-Identifier: BSD-3-Clause
// What the HTTP side keeps of a box, beside what the pool knows.
#ifndef RGPU_BROKER_BOX_LINE_H
#define RGPU_BROKER_BOX_LINE_H

#include <stdint.h>

#include "broker/pool.h"

struct box_line {
    char name[POOL_NAME_MAX];
    struct api_call *call; // with which the box waits for orders, or NULL
    // Of queries for sessions (session_query.h): the last that its report came after, the last that
    // includes this box, and the value of that when the box was answered last.
    int64_t look, wanted, told;
    bool busy_kept;       // the GPU time that it reported last is in the database
    uint64_t suspensions; // of the box, as it was told of them last
};

// By name; the root is NULL where there are none. Makes one that is not there yet.
struct box_line *box_line(void **lines, const char *name);
void box_line_remove(void **lines, const char *name);
void box_lines_free(void **lines);

#endif
