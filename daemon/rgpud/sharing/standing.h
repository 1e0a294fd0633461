// SPDX-License-Identifier: BSD-3-Clause
// Shows why a session's calls wait, for lists of sessions: it is suspended, waits for memory, or is
// held back.
#ifndef RGPU_DAEMON_STANDING_H
#define RGPU_DAEMON_STANDING_H

#include <jansson.h>

#include "daemon/rgpud/workers/worker_process.h"

// Adds "suspension" (a word) and "held_back" to OBJECT if they apply.
void standing_show(const struct worker_process *worker, json_t *object);

#endif
