// SPDX-License-Identifier: BSD-3-Clause
// Audits the memory accounts against the figures of the GPUs' management library. Logs a difference
// that lasts for two consecutive rounds.
#ifndef RGPU_DAEMON_COMPARISON_H
#define RGPU_DAEMON_COMPARISON_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/monitor.h"

// Compares one round. Rounds from before the first worker give the memory that was in use then.
void comparison_take(struct box *box, const struct monitor_round *round);

#endif
