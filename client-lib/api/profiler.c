// SPDX-License-Identifier: BSD-3-Clause
// The table by which the stand-in for CUPTI's library asks this one.
#include "client-lib/api/exports.h"
#include "client-lib/objects/call.h"
#include "client-lib/report/watch.h"
#include "client-lib/session/gpu_work.h"
#include "client_calls.h"

static uint32_t stream_number(CUstream stream)
{
    uint32_t number = 0;
    return remote_activity_stream(stream, &number) == CUDA_SUCCESS ? number : 0;
}

RGPU_EXPORT extern const struct profiler_table rgpu_profiler_table;
const struct profiler_table rgpu_profiler_table = {
    .version = PROFILER_TABLE_VERSION,
    .join = gpu_work_join,
    .leave = gpu_work_leave,
    .collect = gpu_work_collect,
    .watch = watch_calls,
    .stream = stream_number,
};
