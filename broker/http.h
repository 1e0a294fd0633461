// SPDX-License-Identifier: BSD-3-Clause
// The HTTP side of the broker: it takes requests off connections, asks who they are from, and gives each
// to the handler of its route.
#ifndef RGPU_BROKER_HTTP_H
#define RGPU_BROKER_HTTP_H

#include "broker/api_call.h"

// Of events: libevent gives those without one the middle, which is that of requests.
enum { PRIORITY_TIME, PRIORITY_REQUESTS };

int server_start(struct server *server) __attribute__((warn_unused_result));
void server_stop(struct server *server);

#endif
