// SPDX-License-Identifier: BSD-3-Clause
// Keeps warm workers ready for clients: starts missing ones and ends surplus ones.
#ifndef RGPU_DAEMON_REFILL_H
#define RGPU_DAEMON_REFILL_H

#include "daemon/rgpud/box/box.h"

// Starts and ends workers as needed. The review of the box calls it.
void refill_pools(struct box *box);
// Ends all workers that have no session.
void refill_stop_warm(struct box *box);

#endif
