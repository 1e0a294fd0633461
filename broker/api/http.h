// SPDX-License-Identifier: BSD-3-Clause
// The broker's HTTP server: receives requests, authenticates their senders, and calls the handler
// of the route. `server_start` and `server_stop` are called once, in the main thread.
#ifndef RGPU_BROKER_HTTP_H
#define RGPU_BROKER_HTTP_H

#include "broker/api/api_call.h"

// Priorities of libevent events: timers run before requests. Events without an explicit priority
// get libevent's middle value, which is PRIORITY_REQUESTS.
enum { PRIORITY_TIME, PRIORITY_REQUESTS };

int server_start(struct server *server) __attribute__((warn_unused_result));
void server_stop(struct server *server);

#endif
