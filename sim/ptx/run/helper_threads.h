// SPDX-License-Identifier: BSD-3-Clause
// Pool of host threads that help with launches, and of workers whose memory is kept between
// launches.
#ifndef RGPU_SIM_PTX_HELPER_THREADS_H
#define RGPU_SIM_PTX_HELPER_THREADS_H

#include "sim/ptx/run/exec.h"

// Runs blocks of the grid until all have run.
typedef void grid_worker(struct grid *grid);

// Calls RUN on the calling thread and on up to HELPERS pool threads, and waits until all have
// returned. RUN must be the same function in every call.
void helpers_run(struct grid *grid, unsigned helpers, grid_worker *run);

// Returns an unused or new worker, or NULL if memory is exhausted.
struct worker *worker_take(void);
void worker_give(struct worker *worker);

#endif
