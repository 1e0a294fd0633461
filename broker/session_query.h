// SPDX-License-Identifier: BSD-3-Clause
// Queries the boxes for the sessions that they run now, once a second for all callers together.
#ifndef RGPU_BROKER_SESSION_QUERY_H
#define RGPU_BROKER_SESSION_QUERY_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

struct api_call;
struct box_line;
struct server;

struct session_query {
    int64_t number;   // of the last query
    int64_t wanted;   // the last that a caller waits for: `number`, or the one after it
    int64_t answered; // the last that all boxes have answered, or had time to
    double began;     // the last query, in monotonic seconds
    size_t next;      // index of the first box that the last query has not reached
    size_t open;      // boxes whose answers are missing
    struct event *turn;
    char *text; // the answer that all callers of one query get
    size_t text_size;
    int64_t text_of; // its query
    double text_made;
};

int session_query_start(struct server *server) __attribute__((warn_unused_result));
void session_query_stop(struct server *server);
// Notes that the box of LINE has reported.
void session_query_reported(struct server *server, struct box_line *line);
// Gives up on boxes that do not answer. Once a second.
void session_query_tick(struct server *server);
// GET /v1/sessions[?ask=0]
void session_query_list(struct api_call *call);

#endif
