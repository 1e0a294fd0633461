// SPDX-License-Identifier: BSD-3-Clause
// Controls the state of the box and its reactions to changes.
#ifndef RGPU_DAEMON_LIFECYCLE_H
#define RGPU_DAEMON_LIFECYCLE_H

#include "daemon/rgpud/box/box.h"

// Changes the state of the box and notifies the service manager. No other function changes it.
void lifecycle_move(struct box *box, enum box_state state);
// Reviews the box: starts missing workers, serves waiting clients, updates the broker, and ends the
// event loop when the box is done. Runs after box_changed().
void lifecycle_review(struct box *box);

#endif
