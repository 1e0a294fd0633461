// SPDX-License-Identifier: BSD-3-Clause
// Why a session's calls wait, as lists of sessions show it: it is suspended, waits for room, or is held back.
#ifndef RGPU_DAEMON_STANDING_H
#define RGPU_DAEMON_STANDING_H

#include <jansson.h>

#include "daemon/worker_process.h"

// Adds "suspension", in a word, and "held_back", where they are so.
void standing_show(const struct worker_process *worker, json_t *object);

#endif
