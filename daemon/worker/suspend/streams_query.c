// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/suspend/streams_query.h"

#include <time.h>

#include "common/base/handle_table.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"

static void add_state(void *argument, uint64_t handle, void *stream)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned *state = argument;
    CUresult result = driver.cuStreamIsCapturing(stream, &capture);

    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || capture != CU_STREAM_CAPTURE_STATUS_NONE)
        *state |= STREAMS_CAPTURED;
    else if (result == CUDA_SUCCESS)
        result = driver.cuStreamQuery(stream);
    if (result == CUDA_ERROR_NOT_READY)
        *state |= STREAMS_BUSY;
    else if (result != CUDA_SUCCESS)
        *state |= STREAMS_FAILED;
}

unsigned streams_query(void)
{
    unsigned state = 0;

    if (!driver.cuStreamQuery || !driver.cuStreamIsCapturing)
        return STREAMS_FAILED;
    add_state(&state, 0, CU_STREAM_LEGACY);
    handle_table_each(session.handles, HANDLE_STREAM, add_state, &state);
    return state;
}

void streams_await(void)
{
    const struct timespec pause = {.tv_nsec = 100000};

    while (streams_query() & STREAMS_BUSY)
        nanosleep(&pause, NULL);
}
