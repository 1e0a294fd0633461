// SPDX-License-Identifier: BSD-3-Clause
// Shares the box's network card among the leases that have sessions (network_share.h). While there
// are at least two, a timer reads what each of them moved and sets its limits.
#ifndef RGPU_DAEMON_NETWORK_SHARES_H
#define RGPU_DAEMON_NETWORK_SHARES_H

#include "daemon/rgpud/box/box.h"

// Reads the speed of the network cards, unless the settings have it. Returns 0 or -ENOMEM.
int network_shares_open(struct box *box) __attribute__((warn_unused_result));
// Starts the timer if it is needed. Must be called after sessions have begun.
void network_shares_review(struct box *box);
void network_shares_close(struct box *box);

#endif
