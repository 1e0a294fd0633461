// SPDX-License-Identifier: BSD-3-Clause
// Collects records of GPU work from the boxes for the timeline, and for profilers through the
// replacement of the CUPTI library. Thread-safe.
#ifndef RGPU_CLIENT_GPU_WORK_H
#define RGPU_CLIENT_GPU_WORK_H

#include "proto/profiler_table.h"

// Implement the functions of struct profiler_table.
void gpu_work_join(struct profiler_listener *listener);
void gpu_work_leave(struct profiler_listener *listener);
uint64_t gpu_work_collect(void);

// Starts recording in new sessions if a listener exists. Called after sessions were opened.
void gpu_work_opened(void);

#endif
