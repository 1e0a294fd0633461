// SPDX-License-Identifier: BSD-3-Clause
// Copies and kernels overlapping on several streams, ordered only by streams and events.
#include "tests/programs/driver.h"

#define STREAMS 4
#define CHUNKS 16
#define CHUNK 20000u // numbers

static uint32_t scrambled(uint32_t x, unsigned rounds)
{
    while (rounds--)
        x = x * 1664525u + 1013904223u;
    return x;
}

static void pipeline(const struct gpu *gpu)
{
    CUfunction scramble = kernel(gpu, "scramble");
    CUstream streams[STREAMS];
    CUdeviceptr buffers[STREAMS];
    const size_t size = CHUNK * 4ull;
    uint32_t *in, *out;
    unsigned n = CHUNK, rounds = 3, bad = 0;
    CHECK(cuMemAllocHost((void **)&in, size * CHUNKS));
    CHECK(cuMemAllocHost((void **)&out, size * CHUNKS));
    fill_random(in, size * CHUNKS, 7);
    memset(out, 0, size * CHUNKS);
    for (unsigned s = 0; s < STREAMS; s++) {
        CHECK(cuStreamCreate(&streams[s], CU_STREAM_NON_BLOCKING));
        buffers[s] = device_alloc(size);
    }
    for (unsigned c = 0; c < CHUNKS; c++) {
        CUstream stream = streams[c % STREAMS];
        CUdeviceptr buffer = buffers[c % STREAMS];
        CHECK(cuMemcpyHtoDAsync(buffer, in + c * CHUNK, size, stream));
        launch(scramble, 8, 128, stream, &buffer, &rounds, &n);
        CHECK(cuMemcpyDtoHAsync(out + c * CHUNK, buffer, size, stream));
    }
    for (unsigned s = 0; s < STREAMS; s++)
        CHECK(cuStreamSynchronize(streams[s]));
    for (unsigned i = 0; i < CHUNK * CHUNKS; i++)
        bad += out[i] != scrambled(in[i], rounds);
    is_int(bad, 0, "%u chunks through %u streams, each in its stream's order", CHUNKS, STREAMS);
    for (unsigned s = 0; s < STREAMS; s++) {
        CHECK(cuStreamDestroy(streams[s]));
        CHECK(cuMemFree(buffers[s]));
    }
    CHECK(cuMemFreeHost(in));
    CHECK(cuMemFreeHost(out));
}

// Work of one stream that waits for an event of another sees all that came before the event.
static void across_streams(const struct gpu *gpu)
{
    CUfunction add = kernel(gpu, "add"), delay = kernel(gpu, "delay");
    CUstream first, second;
    CUevent event;
    unsigned long long pause = 30000000;
    unsigned n = 1000, one = 1, wrong = 0;
    uint32_t got[1000];
    CUdeviceptr data = device_alloc(n * 4);
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemsetD32(data, 0, n));
    CHECK(cuCtxSynchronize());
    for (unsigned round = 1; round <= 5; round++) {
        launch(delay, 1, 1, first, &pause);
        launch(add, 2, 128, first, &data, &one, &n);
        CHECK(cuEventRecord(event, first));
        CHECK(cuStreamWaitEvent(second, event, 0));
        launch(add, 2, 128, second, &data, &one, &n);
        CHECK(cuMemcpyDtoHAsync(got, data, n * 4, second));
        CHECK(cuStreamSynchronize(second));
        for (unsigned i = 0; i < n; i++)
            wrong += got[i] != 2 * round;
    }
    is_int(wrong, 0, "a stream that waits for an event sees what came before it");
    CHECK(cuEventDestroy(event));
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuMemFree(data));
}

static void queries(const struct gpu *gpu)
{
    CUfunction delay = kernel(gpu, "delay");
    CUstream slow, quick;
    CUevent before, after, never;
    unsigned long long pause = 50000000;
    struct hold hold;
    CHECK(cuStreamCreate(&slow, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&quick, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&before, 0));
    CHECK(cuEventCreate(&after, 0));
    CHECK(cuEventCreate(&never, 0));
    launch(kernel(gpu, "empty"), 1, 1, slow, NULL);
    CHECK(cuStreamSynchronize(slow));

    CHECK(cuEventRecord(before, slow));
    launch(delay, 1, 1, slow, &pause);
    hold = hold_stream(gpu, slow);
    CHECK(cuEventRecord(after, slow));
    CHECK(cuEventSynchronize(before));
    gives(cuEventQuery(before), CUDA_SUCCESS, "an event before a running kernel is done");
    gives(cuEventQuery(after), CUDA_ERROR_NOT_READY, "one behind it is not");
    gives(cuStreamQuery(slow), CUDA_ERROR_NOT_READY, "nor is the stream");
    gives(cuEventQuery(never), CUDA_SUCCESS, "an event that was never recorded is done");
    gives(cuStreamQuery(quick), CUDA_SUCCESS, "a stream without work is done");
    launch(kernel(gpu, "empty"), 1, 1, quick, NULL);
    gives(cuStreamSynchronize(quick), CUDA_SUCCESS, "another stream's work is done meanwhile");
    gives(cuEventQuery(after), CUDA_ERROR_NOT_READY, "while the first stream is still busy");
    hold_release(&hold);
    gives(cuEventSynchronize(after), CUDA_SUCCESS, "the busy one can be waited for");
    gives(cuStreamQuery(slow), CUDA_SUCCESS, "and is done then");

    float ms = -1;
    CHECK(cuEventElapsedTime(&ms, before, after));
    ok(ms >= 49, "a kernel of 50 ms took at least that long by its events");
    if (!(ms >= 49))
        diag("%f ms", (double)ms);
    gives(cuEventElapsedTime(&ms, before, never), CUDA_ERROR_INVALID_HANDLE,
          "no time to an event that was never recorded");
    CHECK(cuEventRecord(after, slow));
    CUevent untimed;
    CHECK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventRecord(untimed, slow));
    CHECK(cuStreamSynchronize(slow));
    gives(cuEventElapsedTime(&ms, before, untimed), CUDA_ERROR_INVALID_HANDLE,
          "no time from events made without timing");
    CHECK(cuEventDestroy(untimed));
    CHECK(cuEventDestroy(before));
    CHECK(cuEventDestroy(after));
    CHECK(cuEventDestroy(never));
    CHECK(cuStreamDestroy(slow));
    CHECK(cuStreamDestroy(quick));
}

// The legacy default stream waits for the blocking streams and they for it.
static void default_stream(const struct gpu *gpu)
{
    CUfunction delay = kernel(gpu, "delay"), add = kernel(gpu, "add");
    CUstream blocking, free_running;
    unsigned long long pause = 100000000;
    unsigned n = 100, one = 1;
    uint32_t got[100];
    CUdeviceptr data = device_alloc(n * 4);
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32(data, 0, n));
    CHECK(cuCtxSynchronize());

    launch(delay, 1, 1, blocking, &pause);
    launch(add, 1, 128, blocking, &data, &one, &n);
    launch(add, 1, 128, NULL, &data, &one, &n);
    CHECK(cuMemcpyDtoH(got, data, n * 4));
    ok(got[0] == 2 && got[n - 1] == 2, "a copy on the default stream waits for a blocking stream");

    launch(delay, 1, 1, NULL, &pause);
    launch(add, 1, 128, NULL, &data, &one, &n);
    launch(add, 1, 128, blocking, &data, &one, &n);
    CHECK(cuMemcpyDtoHAsync(got, data, n * 4, blocking));
    CHECK(cuStreamSynchronize(blocking));
    ok(got[0] == 4 && got[n - 1] == 4, "a blocking stream waits for the default stream");

    struct hold hold = hold_stream(gpu, free_running);
    CHECK(cuMemcpyDtoH(got, data, n * 4));
    gives(cuStreamQuery(free_running), CUDA_ERROR_NOT_READY,
          "the default stream does not wait for a non-blocking one");
    hold_release(&hold);
    CHECK(cuCtxSynchronize());
    gives(cuStreamQuery(free_running), CUDA_SUCCESS, "synchronizing the context does");
    CHECK(cuStreamDestroy(blocking));
    CHECK(cuStreamDestroy(free_running));
    CHECK(cuMemFree(data));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    pipeline(&gpu);
    across_streams(&gpu);
    queries(&gpu);
    default_stream(&gpu);
    close_gpu(&gpu);
    return done();
}
