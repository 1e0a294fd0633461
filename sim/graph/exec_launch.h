// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_GRAPH_EXEC_LAUNCH_H
#define SIM_GRAPH_EXEC_LAUNCH_H

#include "sim/sim.h"

// Implements cuGraphUpload: charges the memory that the first launch allocates.
CUresult exec_upload(CUgraphExec handle, CUstream stream);

#endif
