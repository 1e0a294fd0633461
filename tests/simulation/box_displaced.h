// SPDX-License-Identifier: BSD-3-Clause
// Leases of a box whose sessions are suspended, or were moved to another GPU. It stands in for
// daemon/rgpud/suspension and daemon/rgpud/sharing/moves.c.
#ifndef RGPU_TEST_BOX_DISPLACED_H
#define RGPU_TEST_BOX_DISPLACED_H

#include "tests/simulation/simulated_box.h"

// Returns true if the memory of the lease's sessions is not on the GPUs, or is to leave them: new
// sessions wait.
bool box_is_suspended(const struct simulated_box *box, const char *lease);
// Returns true if the session's memory is not on its GPUs.
bool box_session_is_off(const struct simulated_box *box, const struct worker_process *worker);
// Returns the GPU on which the lease is that tickets place on GPU UUID.
const char *box_place_of(const struct simulated_box *box, const char *lease, uint32_t ordinal,
                         const char *uuid);
// The box's process has died; the moves are on its disk.
void box_displaced_died(struct simulated_box *box);
// Programs of a lease do nothing for a while, so that the box suspends it by itself.
void box_begin_idle(struct simulated_box *box);

#endif
