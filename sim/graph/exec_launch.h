// SPDX-License-Identifier: BSD-3-Clause
// Launches and uploads executable graphs.
#ifndef SIM_GRAPH_EXEC_LAUNCH_H
#define SIM_GRAPH_EXEC_LAUNCH_H

#include "sim/sim.h"

// Prepares a first launch: charges the memory that the graph allocates.
CUresult exec_upload(CUgraphExec handle, CUstream stream);

#endif
