// SPDX-License-Identifier: BSD-3-Clause
// User objects: resources of the program to which graphs have references. The program's destructor
// runs when the last reference is dropped.
#ifndef SIM_GRAPH_USER_OBJECT_H
#define SIM_GRAPH_USER_OBJECT_H

#include "sim/sim.h"

struct retained; // references of one graph or executable graph to user objects

// Drops all references. Destructors run later, on a separate thread. The caller holds graph_mutex.
void users_drop_all(struct retained **users);
CUresult users_copy(const struct retained *from,
                    struct retained **to); // adds references for TO

#endif
