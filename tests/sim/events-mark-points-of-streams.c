// SPDX-License-Identifier: BSD-3-Clause
// Events: completion, timing, waiting across streams, recording anew, and misuse.
#include "tests/sim/sim_test.h"

int main(void)
{
    sim_isolate("1", "1G");
    sim_context(0);
    uint32_t *gate = sim_word();
    CUstream first = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream second = sim_stream(CU_STREAM_NON_BLOCKING);
    CUevent start, end, untimed;
    float milliseconds = -1;
    CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    CHECK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));

    gives(cuEventQuery(start), CUDA_SUCCESS, "an event that was never recorded is complete");
    gives(cuEventSynchronize(start), CUDA_SUCCESS, "and not waited for");
    gives(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE,
          "but has no time");

    CHECK(cuEventRecord(start, first));
    sim_close_gate(first, gate);
    CHECK(cuEventRecord(end, first));
    gives(cuEventQuery(start), CUDA_SUCCESS, "an event before the gate is complete");
    gives(cuEventQuery(end), CUDA_ERROR_NOT_READY, "one behind it is not");
    gives(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY,
          "so there is no time between them yet");

    struct sim_trace trace = {0};
    struct sim_mark mark = {&trace, 1};
    CHECK(cuStreamWaitEvent(second, end, 0));
    CHECK(cuLaunchHostFunc(second, sim_note, &mark));
    CHECK(cuEventRecord(untimed, second));
    // A later record does not change what an earlier wait waits for.
    CHECK(cuEventRecord(end, first));
    gives(cuStreamQuery(second), CUDA_ERROR_NOT_READY, "a stream that waits for an event waits");
    is_int(atomic_load(&trace.count), 0, "and does not run what is behind");

    struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    sim_open_gate(gate);
    gives(cuEventSynchronize(end), CUDA_SUCCESS, "the event completes when the gate opens");
    gives(cuEventSynchronize(untimed), CUDA_SUCCESS, "and the stream behind it goes on");
    is_int(atomic_load(&trace.count), 1, "with its work");
    gives(cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS, "there is a time now");
    ok(milliseconds >= 20 && milliseconds < 20000, "of at least what the gate took (%.1f ms)",
       (double)milliseconds);
    gives(cuEventElapsedTime(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE,
          "an event without timing has none");

    CUcontext other;
    CHECK(cuCtxCreate_v2(&other, 0, 0));
    gives(cuEventRecord(start, NULL), CUDA_ERROR_INVALID_HANDLE,
          "an event is not recorded in a stream of another context");
    gives(cuStreamWaitEvent(NULL, end, 0), CUDA_SUCCESS, "though one may wait for it there");
    CHECK(cuCtxDestroy(other));
    gives(cuEventDestroy(end), CUDA_SUCCESS, "an event is destroyed");
    gives(cuEventDestroy(end), CUDA_ERROR_INVALID_HANDLE, "once");
    gives(cuEventCreate(&end, 64), CUDA_ERROR_INVALID_VALUE, "unknown flags are refused");
    return done();
}
