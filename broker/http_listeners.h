// SPDX-License-Identifier: BSD-3-Clause
// The sockets that the broker listens on: addresses, the unix socket, and rest when there are no
// descriptors for new connections.
#ifndef RGPU_BROKER_HTTP_LISTENERS_H
#define RGPU_BROKER_HTTP_LISTENERS_H

#include "broker/connection.h"
#include "broker/broker_settings.h"

struct http_listeners;

// Whether addresses and path of the settings can be meant; what is wrong is logged.
int http_listeners_check(const struct broker_settings *settings)
    __attribute__((warn_unused_result));
// Prints each address. What is in the way is in the log.
int http_listeners_open(struct event_base *base, struct connections *connections,
                        const struct broker_settings *settings, struct http_listeners **listeners)
    __attribute__((warn_unused_result));
// The unix socket's path goes too, if it is still ours.
void http_listeners_close(struct http_listeners **listeners);

#endif
