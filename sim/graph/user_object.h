// SPDX-License-Identifier: BSD-3-Clause
// User objects: the program's resources that graphs hold on to, and that are given back by the
// program's own function once nobody has a reference any more.
#ifndef SIM_GRAPH_USER_OBJECT_H
#define SIM_GRAPH_USER_OBJECT_H

#include "sim/sim.h"

struct retained; // references of one graph or executable graph

// Under graph_mutex. The destructors run later, on a thread of their own.
void users_drop_all(struct retained **users);
CUresult users_copy(const struct retained *from,
                    struct retained **to); // with references of its own

#endif
