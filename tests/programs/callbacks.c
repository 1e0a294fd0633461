// SPDX-License-Identifier: BSD-3-Clause
// Host functions and stream callbacks: their order, the data that they see, and the calls that wait
// for them.
#include <stdatomic.h>
#include <unistd.h>

#include "tests/programs/driver.h"

#define N 5000u

struct seen {
    const uint32_t *buffer;
    uint32_t first, last;
    atomic_int calls;
    CUresult status;
};

static void look(void *data)
{
    struct seen *seen = data;
    seen->first = seen->buffer[0];
    seen->last = seen->buffer[N - 1];
    atomic_fetch_add(&seen->calls, 1);
}

static void CUDA_CB look_callback(CUstream stream, CUresult status, void *data)
{
    struct seen *seen = data;
    seen->status = status;
    look(data);
}

static void set_all(void *data)
{
    uint32_t *buffer = data;
    usleep(20000);
    for (unsigned i = 0; i < N; i++)
        buffer[i] = 1000 + i;
}

static void count(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

struct turn {
    int *log;
    int *length;
    int number;
};

static void take_turn(void *data)
{
    struct turn *turn = data;
    turn->log[(*turn->length)++] = turn->number;
}

static void sees_copies(const struct gpu *gpu, CUstream stream, uint32_t *buffer)
{
    struct seen seen = {.buffer = buffer};
    unsigned n = N, value = 5;
    unsigned long long pause = 20000000;
    CUdeviceptr data = device_alloc(N * 4);
    CHECK(cuMemsetD32(data, 10, N));
    CHECK(cuCtxSynchronize());
    memset(buffer, 0, N * 4);
    launch(kernel(gpu, "delay"), 1, 1, stream, &pause);
    launch(kernel(gpu, "add"), 4, 128, stream, &data, &value, &n);
    CHECK(cuMemcpyDtoHAsync(buffer, data, N * 4, stream));
    CHECK(cuLaunchHostFunc(stream, look, &seen));
    CHECK(cuStreamSynchronize(stream));
    is_int(atomic_load(&seen.calls), 1, "synchronizing a stream waits for its host function");
    ok(seen.first == 15 && seen.last == 15, "a host function sees the copy before it");

    launch(kernel(gpu, "add"), 4, 128, stream, &data, &value, &n);
    CHECK(cuMemcpyDtoHAsync(buffer, data, N * 4, stream));
    CHECK(cuStreamAddCallback(stream, look_callback, &seen, 0));
    CHECK(cuStreamSynchronize(stream));
    ok(seen.first == 20 && seen.last == 20, "a stream callback sees the copy before it");
    is_int(seen.status, CUDA_SUCCESS, "and is told success");
    CHECK(cuMemFree(data));
}

static void holds_back_later_work(CUstream stream, uint32_t *buffer)
{
    CUdeviceptr data = device_alloc(N * 4);
    uint32_t *got = must_alloc(N * 4);
    unsigned wrong = 0;
    memset(buffer, 0, N * 4);
    CHECK(cuLaunchHostFunc(stream, set_all, buffer));
    CHECK(cuMemcpyHtoDAsync(data, buffer, N * 4, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH(got, data, N * 4));
    for (unsigned i = 0; i < N; i++)
        wrong += got[i] != 1000 + i;
    is_int(wrong, 0, "a copy behind a host function takes what the function wrote");

    CUevent event;
    atomic_int calls = 0;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuLaunchHostFunc(stream, set_all, buffer));
    CHECK(cuLaunchHostFunc(stream, count, &calls));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuEventSynchronize(event));
    is_int(atomic_load(&calls), 1, "an event behind a host function waits for it");
    CHECK(cuEventDestroy(event));
    CHECK(cuMemFree(data));
    free(got);
}

static void same_function_twice(CUstream stream)
{
    atomic_int a = 0, b = 0;
    CHECK(cuLaunchHostFunc(stream, count, &a));
    CHECK(cuLaunchHostFunc(stream, count, &b));
    CHECK(cuLaunchHostFunc(stream, count, &b));
    CHECK(cuStreamSynchronize(stream));
    ok(atomic_load(&a) == 1 && atomic_load(&b) == 2,
       "one function registered with different data is called with each");
}

static void many_in_order(CUstream stream)
{
    enum { TURNS = 500 };
    static struct turn turns[TURNS];
    static int log[TURNS];
    int length = 0, wrong = 0;
    for (int i = 0; i < TURNS; i++) {
        turns[i] = (struct turn){log, &length, i};
        CHECK(cuLaunchHostFunc(stream, take_turn, &turns[i]));
    }
    CHECK(cuStreamSynchronize(stream));
    is_int(length, TURNS, "every one of %d host functions was called", TURNS);
    for (int i = 0; i < length; i++)
        wrong += log[i] != i;
    is_int(wrong, 0, "in the order in which they were queued");
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    uint32_t *pinned, *pageable = must_alloc(N * 4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&pinned, N * 4));
    sees_copies(&gpu, stream, pinned);
    sees_copies(&gpu, stream, pageable);
    holds_back_later_work(stream, pinned);
    same_function_twice(stream);
    many_in_order(stream);
    same_function_twice(NULL);
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuStreamDestroy(stream));
    free(pageable);
    close_gpu(&gpu);
    return done();
}
