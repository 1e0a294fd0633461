// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_DAEMON_STANDING_H
#define RGPU_DAEMON_STANDING_H

#include <jansson.h>

#include "daemon/rgpud/workers/worker_process.h"

// Adds to OBJECT why a session's requests wait: "suspension" (a word), and "held_back"; and the
// limits of its lease over the network in bytes per second, "limit_in" and "limit_out".
void standing_show(const struct worker_process *worker, json_t *object);

#endif
