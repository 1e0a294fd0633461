// SPDX-License-Identifier: BSD-3-Clause
// The HTTP side of the broker: takes requests from connections, authenticates their senders, and
// calls the handler of the route.
#ifndef RGPU_BROKER_HTTP_H
#define RGPU_BROKER_HTTP_H

#include "broker/api/api_call.h"

// Priorities of events. libevent gives events without a priority the middle one, which is that of
// requests.
enum { PRIORITY_TIME, PRIORITY_REQUESTS };

int server_start(struct server *server) __attribute__((warn_unused_result));
void server_stop(struct server *server);

#endif
