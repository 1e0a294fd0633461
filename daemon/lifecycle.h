// SPDX-License-Identifier: BSD-3-Clause
// The life of the box: its state, and what follows when something has changed.
#ifndef RGPU_DAEMON_LIFECYCLE_H
#define RGPU_DAEMON_LIFECYCLE_H

#include "daemon/box.h"

// The one place where the box changes state; tells the service manager.
void lifecycle_move(struct box *box, enum box_state state);
// Starts what lacks, serves who waits, tells the broker, and ends the loop when nothing is left to wait for. Called
// behind box_changed().
void lifecycle_review(struct box *box);

#endif
