// SPDX-License-Identifier: BSD-3-Clause
// Implements user objects: resources of the program that graphs hold, and that the program's own
// function destroys when the last reference is gone.
#ifndef SIM_GRAPH_USER_OBJECT_H
#define SIM_GRAPH_USER_OBJECT_H

#include "sim/sim.h"

struct retained; // references of one graph or executable graph

// Drops all references. Destructors run later, on a thread of their own. Called under graph_mutex.
void users_drop_all(struct retained **users);
CUresult users_copy(const struct retained *from,
                    struct retained **to); // with references of its own

#endif
