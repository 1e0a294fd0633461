// SPDX-License-Identifier: BSD-3-Clause
// What the GPUs did and when, as the boxes note it while somebody listens: the timeline, and a profiler by way of
// the stand-in for CUPTI's library. Any thread may call.
#ifndef RGPU_CLIENT_GPU_WORK_H
#define RGPU_CLIENT_GPU_WORK_H

#include "proto/profiler_table.h"

// See struct profiler_table.
void gpu_work_join(struct profiler_listener *listener);
void gpu_work_leave(struct profiler_listener *listener);
uint64_t gpu_work_collect(void);

// The sessions are there now: has them begin where somebody listens already.
void gpu_work_opened(void);

#endif
