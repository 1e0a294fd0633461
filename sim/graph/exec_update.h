// SPDX-License-Identifier: BSD-3-Clause
// Updates executable graphs.
#ifndef SIM_GRAPH_EXEC_UPDATE_H
#define SIM_GRAPH_EXEC_UPDATE_H

#include "sim/sim.h"

// Replaces a child's steps by those of another graph of the same shape. Returns INVALID_VALUE or
// GRAPH_EXEC_UPDATE_FAILURE.
CUresult exec_set_child(CUgraphExec exec, CUgraphNode node, CUgraph graph);

#endif
