// SPDX-License-Identifier: BSD-3-Clause
// Opens the sockets that the broker listens on: addresses and the unix socket. Pauses accepting
// while there are no descriptors for new connections.
#ifndef RGPU_BROKER_HTTP_LISTENERS_H
#define RGPU_BROKER_HTTP_LISTENERS_H

#include "broker/http/connection.h"
#include "broker/http/broker_settings.h"

struct http_listeners;

// Checks the addresses and the path of the settings; logs each problem.
int http_listeners_check(const struct broker_settings *settings)
    __attribute__((warn_unused_result));
// Opens the sockets and prints each address; logs each failure.
int http_listeners_open(struct event_base *base, struct connections *connections,
                        const struct broker_settings *settings, struct http_listeners **listeners)
    __attribute__((warn_unused_result));
// Closes the sockets and removes the unix socket's path, if that is still ours.
void http_listeners_close(struct http_listeners **listeners);

#endif
