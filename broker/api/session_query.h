// SPDX-License-Identifier: BSD-3-Clause
// Asks all boxes for their present sessions. Callers share a query: a new one starts at most once a
// second.
#ifndef RGPU_BROKER_SESSION_QUERY_H
#define RGPU_BROKER_SESSION_QUERY_H

struct api_call;
struct box_http;
struct server;

int session_query_start(struct server *server) __attribute__((warn_unused_result));
void session_query_stop(struct server *server);
// Notes that the box of STATE has sent a report.
void session_query_reported(struct server *server, struct box_http *state);
// Stops waiting for boxes that do not report in time. Must be called once a second.
void session_query_tick(struct server *server);
// Handles GET /v1/sessions[?ask=0].
void session_query_list(struct api_call *call);

#endif
