// SPDX-License-Identifier: BSD-3-Clause
// Between launches and the pool of host threads that runs them.
#ifndef RGPU_SIM_PTX_LAUNCH_H
#define RGPU_SIM_PTX_LAUNCH_H

#include "sim/ptx/run/exec.h"

// Runs blocks of the grid until none is left: on the caller's and on helping threads.
void grid_work(struct grid *grid);

// helper_threads.c: calls grid_work on this thread and up to `helpers` others, and waits for all.
void pool_run(struct grid *grid, unsigned helpers);
struct worker *worker_take(void);
void worker_give(struct worker *worker);

#endif
