// SPDX-License-Identifier: BSD-3-Clause
// State of the box, and its reactions to changes.
#ifndef RGPU_DAEMON_LIFECYCLE_H
#define RGPU_DAEMON_LIFECYCLE_H

#include "daemon/rgpud/box/box.h"

// Sets the state of the box and reports it to the service manager. No other function sets the
// state.
void lifecycle_move(struct box *box, enum box_state state);
// Reviews the box after a change: starts missing workers, serves waiting clients, sends changes to
// the broker, and ends the event loop when all is done. See box_changed().
void lifecycle_review(struct box *box);

#endif
