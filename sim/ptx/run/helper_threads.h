// SPDX-License-Identifier: BSD-3-Clause
// Implements host threads that help launches, and the worker memory that is kept between launches.
#ifndef RGPU_SIM_PTX_HELPER_THREADS_H
#define RGPU_SIM_PTX_HELPER_THREADS_H

#include "sim/ptx/run/exec.h"

// Runs blocks of the grid until none is left.
typedef void grid_worker(struct grid *grid);

// Calls RUN, which is the same for all launches, on this thread and up to HELPERS others, and waits
// for all.
void helpers_run(struct grid *grid, unsigned helpers, grid_worker *run);

// Returns an idle or new worker, or NULL without memory.
struct worker *worker_take(void);
void worker_give(struct worker *worker);

#endif
