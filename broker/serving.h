// SPDX-License-Identifier: BSD-3-Clause
// Serves the pool, or waits until this broker leads.
#ifndef RGPU_BROKER_SERVING_H
#define RGPU_BROKER_SERVING_H

#include "broker/api/api_call.h"

// Serves SERVER, whose broker is open, until a signal ends it. RELOAD is for SIGHUP, with SERVER.
// Errors are logged.
enum outcome serve_pool(struct server *server, event_callback_fn reload)
    __attribute__((warn_unused_result));
// Follows the log into the database at PATH until this broker leads, and answers health and
// metrics meanwhile. *LEADS: no signal came before.
enum outcome serve_waiting(struct server *server, const char *path, event_callback_fn reload,
                           bool *leads) __attribute__((warn_unused_result));

#endif
