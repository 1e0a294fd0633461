// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_GRAPH_EXEC_UPDATE_H
#define SIM_GRAPH_EXEC_UPDATE_H

#include "sim/sim.h"

// Implements cuGraphExecChildGraphNodeSetParams: replaces the work of a child graph by that of
// GRAPH, which must have the same shape. Returns INVALID_VALUE or GRAPH_EXEC_UPDATE_FAILURE.
CUresult exec_set_child(CUgraphExec exec, CUgraphNode node, CUgraph graph);

#endif
