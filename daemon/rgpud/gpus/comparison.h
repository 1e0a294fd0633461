// SPDX-License-Identifier: BSD-3-Clause
// Memory audit: compares the accounts with the figures of the management library, and logs
// differences that last for two rounds.
#ifndef RGPU_DAEMON_COMPARISON_H
#define RGPU_DAEMON_COMPARISON_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/monitor.h"

// Audits one round. Rounds before the first worker give the memory that was in use then.
void comparison_take(struct box *box, const struct monitor_round *round);

#endif
