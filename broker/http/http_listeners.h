// SPDX-License-Identifier: BSD-3-Clause
// Opens the TCP and unix sockets on which the broker accepts connections. Accepting pauses while
// the process has no free file descriptors.
#ifndef RGPU_BROKER_HTTP_LISTENERS_H
#define RGPU_BROKER_HTTP_LISTENERS_H

#include "broker/http/connection.h"
#include "broker/http/broker_settings.h"

struct http_listeners;

// Checks the setting's addresses and socket path. Logs each problem. Returns 0 or -EINVAL.
int http_listeners_check(const struct broker_settings *settings)
    __attribute__((warn_unused_result));
// Opens the sockets and prints each address to standard output. Logs each failure. Returns 0 or
// -errno.
int http_listeners_open(struct event_base *base, struct connections *connections,
                        const struct broker_settings *settings, struct http_listeners **listeners)
    __attribute__((warn_unused_result));
// Closes the sockets. Removes the unix socket's file unless another process has replaced it.
void http_listeners_close(struct http_listeners **listeners);

#endif
