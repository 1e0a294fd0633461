// SPDX-License-Identifier: BSD-3-Clause
// usage: crossing [lost]. Streams of one device wait for events of another, whatever lies between
// the two. With `lost`, the script that runs this takes the first device away while the second
// waits.
#include <stdatomic.h>

#include "tests/programs/driver.h"
#include "tests/programs/graph_calls.h"

enum { ROUNDS = 60, N = 1 << 16 };

static struct gpu gpu[2];
static CUstream stream[2];

static void on(int device)
{
    CHECK(cuCtxSetCurrent(gpu[device].context));
}

static CUevent new_event(int device)
{
    CUevent event;
    on(device);
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

// Long enough that work of the second device which did not wait would be over.
static void let_others_run(int times)
{
    static CUstream other;
    unsigned long long pause = 3000000;
    on(1);
    if (!other)
        CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < times; i++) {
        launch(kernel(&gpu[1], "delay"), 1, 1, other, &pause);
        CHECK(cuStreamSynchronize(other));
    }
}

static void copy_through_host(void)
{
    uint32_t *host, *got = must_alloc(N);
    CUdeviceptr data[2];
    unsigned wrong = 0;
    CUevent event = new_event(0);
    for (int d = 0; d < 2; d++) {
        on(d);
        data[d] = device_alloc(N);
        CHECK(cuMemsetD32(data[d], 1000 + (unsigned)d, N / 4));
        CHECK(cuCtxSynchronize());
    }
    CHECK(cuMemAllocHost((void **)&host, N)); // the second device's
    memset(host, 0, N);
    on(0);
    struct hold hold = hold_stream(&gpu[0], stream[0]);
    CHECK(cuMemcpyDtoHAsync(host, data[0], N, stream[0]));
    CHECK(cuEventRecord(event, stream[0]));
    on(1);
    gives(cuStreamWaitEvent(stream[1], event, 0), CUDA_SUCCESS,
          "a stream waits for another device's event");
    CHECK(cuMemcpyHtoDAsync(data[1], host, N, stream[1]));
    let_others_run(20);
    gives(cuStreamQuery(stream[1]), CUDA_ERROR_NOT_READY,
          "it is held while the event has not come");
    on(0);
    hold_release(&hold);
    on(1);
    CHECK(cuStreamSynchronize(stream[1]));
    CHECK(cuMemcpyDtoH(got, data[1], N));
    for (unsigned i = 0; i < N / 4; i++)
        wrong += got[i] != 1000;
    is_int(wrong, 0, "and then finds in host memory what the other device wrote there");
    CHECK(cuMemFreeHost(host));
    CHECK(cuEventDestroy(event));
    for (int d = 0; d < 2; d++) {
        on(d);
        CHECK(cuMemFree(data[d]));
    }
    free(got);
}

// A wait is for the event as it was recorded at the time of the call.
static void record_of_the_moment(void)
{
    CUstream second;
    CUevent event = new_event(0), never = new_event(0);
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    struct hold first_hold = hold_stream(&gpu[0], stream[0]);
    struct hold second_hold = hold_stream(&gpu[0], second);
    CHECK(cuEventRecord(event, stream[0]));
    on(1);
    CHECK(cuStreamWaitEvent(stream[1], event, 0));
    CHECK(cuStreamWaitEvent(stream[1], never, 0));
    on(0);
    CHECK(cuEventRecord(event, second));
    on(1);
    gives(cuEventQuery(event), CUDA_ERROR_NOT_READY,
          "an event that is recorded again is not ready");
    gives(cuStreamQuery(stream[1]), CUDA_ERROR_NOT_READY, "nor is the stream that waits");
    on(0);
    hold_release(&first_hold);
    on(1);
    gives(cuStreamSynchronize(stream[1]), CUDA_SUCCESS,
          "a stream waits for the record that there was, not for a later one");
    gives(cuEventQuery(event), CUDA_ERROR_NOT_READY, "which is still to come");
    CHECK(cuStreamWaitEvent(NULL, event, 0));
    gives(cuEventDestroy(event), CUDA_SUCCESS, "an event is destroyed while a stream waits for it");
    gives(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY, "the default stream can wait, too");
    on(0);
    hold_release(&second_hold);
    on(1);
    gives(cuStreamSynchronize(NULL), CUDA_SUCCESS, "and goes on when its turn has come");
    on(0);
    CHECK(cuEventDestroy(never));
    CHECK(cuStreamDestroy(second));
}

static _Atomic unsigned steps;
static unsigned out_of_turn;

static void step(void *argument)
{
    unsigned now = atomic_fetch_add(&steps, 1);
    out_of_turn += now != (unsigned)(uintptr_t)argument;
}

static void to_and_fro(void)
{
    CUevent event[2][ROUNDS];
    on(0);
    struct hold hold = hold_stream(&gpu[0], stream[0]);
    for (uintptr_t i = 0; i < 2 * ROUNDS; i++) {
        int d = i % 2;
        event[d][i / 2] = new_event(d);
        if (i)
            CHECK(cuStreamWaitEvent(stream[d], event[!d][(i - 1) / 2], 0));
        CHECK(cuLaunchHostFunc(stream[d], step, (void *)i));
        CHECK(cuEventRecord(event[d][i / 2], stream[d]));
    }
    is_int(steps, 0, "nothing runs before the first device is let go");
    on(0);
    hold_release(&hold);
    on(1);
    gives(cuStreamSynchronize(stream[1]), CUDA_SUCCESS, "%d waits in both directions end",
          2 * ROUNDS - 1);
    ok(steps == 2 * ROUNDS && !out_of_turn, "and were kept in turn");
    for (int d = 0; d < 2; d++) {
        on(d);
        for (int i = 0; i < ROUNDS; i++)
            CHECK(cuEventDestroy(event[d][i]));
    }
}

// Operations that cannot cross devices return an error and have no effect.
static void refusals(void)
{
    CUevent here = new_event(0), there = new_event(1);
    CUdeviceptr data = device_alloc(16); // the second device's
    CUfunction function = kernel(&gpu[0], "empty");
    float ms;
    CHECK(cuEventRecord(there, stream[1]));
    CHECK(cuStreamSynchronize(stream[1]));
    on(0);
    CHECK(cuEventRecord(here, stream[0]));
    CHECK(cuStreamSynchronize(stream[0]));
    gives(cuEventQuery(there), CUDA_SUCCESS, "any event can be asked for");
    gives(cuEventSynchronize(there), CUDA_SUCCESS, "and waited for");
    gives(cuEventElapsedTime(&ms, here, there), CUDA_ERROR_INVALID_HANDLE,
          "between events of two devices there is no time");
    gives(cuEventRecord(here, stream[1]), CUDA_ERROR_INVALID_HANDLE,
          "an event is not recorded in another device's stream");
    gives(cuEventRecord(there, NULL), CUDA_ERROR_INVALID_HANDLE, "be it the default one");
    ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream[1], NULL, NULL) != CUDA_SUCCESS,
       "a kernel is not launched in another device's stream");
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "and nothing later fails for all this");
    on(1);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "on neither device");
    CHECK(cuMemFree(data));
    CHECK(cuEventDestroy(here));
    CHECK(cuEventDestroy(there));
}

static bool captures(CUstream in)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CHECK(cuStreamIsCapturing(in, &status));
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// A graph belongs to one box: the second device's stream joins a capture on the same box and gets
// an error otherwise.
static void graphs(void)
{
    CUevent outside = new_event(1), forked = new_event(0), joined = new_event(1);
    CUgraph graph = NULL;
    on(1);
    CHECK(cuEventRecord(outside, stream[1]));
    CHECK(cuStreamSynchronize(stream[1]));
    on(0);
    CHECK(cuStreamBeginCapture(stream[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuEventRecord(forked, stream[0]));
    CUresult result = cuStreamWaitEvent(stream[1], forked, 0);
    ok(captures(stream[1]) == (result == CUDA_SUCCESS),
       "a stream of the second device joins a capture, or is refused (%s)", result_name(result));
    if (result == CUDA_SUCCESS) {
        on(1);
        CHECK(cuEventRecord(joined, stream[1]));
        on(0);
        CHECK(cuStreamWaitEvent(stream[0], joined, 0));
    }
    gives(cuStreamEndCapture(stream[0], &graph),
          result == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          "the graph has all, or there is none");
    if (graph)
        CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamBeginCapture(stream[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    gives(cuStreamWaitEvent(stream[0], outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
          "what the other device has done outside of a capture is not waited for in it");
    gives(cuStreamEndCapture(stream[0], &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          "which ends the capture");
    for (int d = 0; d < 2; d++) {
        on(d);
        gives(cuCtxSynchronize(), CUDA_SUCCESS, "and nothing else of device %d", d);
    }
    CHECK(cuEventDestroy(outside));
    CHECK(cuEventDestroy(forked));
    CHECK(cuEventDestroy(joined));
}

static int lose_first(void)
{
    char line[8];
    CUevent event = new_event(0);
    on(0);
    hold_stream(&gpu[0], stream[0]);
    CHECK(cuEventRecord(event, stream[0]));
    on(1);
    CHECK(cuStreamWaitEvent(stream[1], event, 0));
    printf("# waits\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        bail("nobody said that the device is gone");
    CUresult result = cuStreamSynchronize(stream[1]);
    ok(result != CUDA_SUCCESS, "a stream that waits for a lost device fails (%s)",
       result_name(result));
    return done();
}

int main(int argc, char **argv)
{
    need_two_devices();
    for (int d = 0; d < 2; d++) {
        gpu[d] = open_gpu(d);
        CHECK(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
    }
    // A kernel that is launched for the first time may have to wait for a stream that is held.
    let_others_run(1);
    if (argc > 1)
        return lose_first();
    copy_through_host();
    record_of_the_moment();
    to_and_fro();
    graphs();
    refusals();
    for (int d = 0; d < 2; d++) {
        on(d);
        CHECK(cuStreamDestroy(stream[d]));
        close_gpu(&gpu[d]);
    }
    return done();
}
