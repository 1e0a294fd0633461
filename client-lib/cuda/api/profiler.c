// SPDX-License-Identifier: BSD-3-Clause
// The table by which the replacement of CUPTI's library uses this one.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/gpu_work.h"
#include "client_calls.h"

static bool numbers_of(CUstream stream, uint32_t *of_stream, uint32_t *of_context)
{
    return remote_activity_numbers(stream, of_stream, of_context) == CUDA_SUCCESS;
}

RGPU_EXPORT extern const struct profiler_table rgpu_profiler_table;
const struct profiler_table rgpu_profiler_table = {
    .version = PROFILER_TABLE_VERSION,
    .join = gpu_work_join,
    .leave = gpu_work_leave,
    .collect = gpu_work_collect,
    .watch = watch_calls,
    .numbers = numbers_of,
};
