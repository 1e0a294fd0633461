// SPDX-License-Identifier: BSD-3-Clause
// Takes over the sessions of an earlier rgpud, which rgpu-spawner has kept.
#ifndef RGPU_DAEMON_TAKEOVER_H
#define RGPU_DAEMON_TAKEOVER_H

#include "daemon/rgpud/box/box.h"

// Takes the sessions over, once the devices are known. Ends those that cannot be accounted for.
void takeover_sessions(struct box *box);
// Ends sessions that were not taken over yet. For the shutdown.
void takeover_abandon(struct box *box);

#endif
