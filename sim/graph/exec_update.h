// SPDX-License-Identifier: BSD-3-Clause
// Changes of executable graphs.
#ifndef SIM_GRAPH_EXEC_UPDATE_H
#define SIM_GRAPH_EXEC_UPDATE_H

#include "sim/sim.h"

// A child's steps become those of another graph of the same shape. INVALID_VALUE,
// GRAPH_EXEC_UPDATE_FAILURE.
CUresult exec_set_child(CUgraphExec exec, CUgraphNode node, CUgraph graph);

#endif
