// SPDX-License-Identifier: BSD-3-Clause
// Keeps a number of warm workers ready for clients.
#ifndef RGPU_DAEMON_REFILL_H
#define RGPU_DAEMON_REFILL_H

#include "daemon/rgpud/box/box.h"

// Starts missing warm workers and ends surplus ones. Called by lifecycle_review().
void refill_pools(struct box *box);
// Ends all workers that have no session.
void refill_stop_warm(struct box *box);

#endif
