// SPDX-License-Identifier: BSD-3-Clause
// When the bytes of an asynchronous copy must have arrived, and when its source may be reused:
// what goes wrong first when a copy is carried somewhere else.
#include <sched.h>

#include "tests/programs/driver.h"

#define SIZE (1u << 20)

static struct gpu gpu;
static CUstream stream, busy;
static CUdeviceptr device;
static unsigned char *want;

static struct hold hold;

// Puts random bytes on the device, keeps `busy` busy (in round 1 until `finish`), and clears where
// the bytes will be copied to.
static void prepare(unsigned char *host, unsigned round)
{
    unsigned long long pause = 40000000;
    fill_random(want, SIZE, round);
    CHECK(cuMemcpyHtoD(device, want, SIZE));
    memset(host, 0, SIZE);
    if (round == 1)
        hold = hold_stream(&gpu, busy);
    else
        launch(kernel(&gpu, "delay"), 1, 1, busy, &pause);
}

static void finish(void)
{
    CHECK(cuStreamSynchronize(busy));
}

static void poll_event(CUevent event)
{
    CUresult result;
    while ((result = cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
        sched_yield();
    check_call(result, "cuEventQuery", __FILE__, __LINE__);
}

static void poll_stream(CUstream which)
{
    CUresult result;
    while ((result = cuStreamQuery(which)) == CUDA_ERROR_NOT_READY)
        sched_yield();
    check_call(result, "cuStreamQuery", __FILE__, __LINE__);
}

struct compare {
    const unsigned char *host;
    int equal;
};

static void compare_now(void *data)
{
    struct compare *compare = data;
    compare->equal = !memcmp(compare->host, want, SIZE);
}

static void arrives(unsigned char *host, const char *kind)
{
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));

    prepare(host, 1);
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    CHECK(cuStreamSynchronize(stream));
    is_mem(host, want, SIZE, "%s: there once its own stream is synchronized", kind);
    gives(cuStreamQuery(busy), CUDA_ERROR_NOT_READY, "%s: without waiting for another", kind);
    hold_release(&hold);
    finish();

    prepare(host, 2);
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuEventSynchronize(event));
    is_mem(host, want, SIZE, "%s: there once an event behind it is synchronized", kind);
    finish();

    prepare(host, 3);
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    CHECK(cuEventRecord(event, stream));
    poll_event(event);
    is_mem(host, want, SIZE, "%s: there once a query says that the event has happened", kind);
    finish();

    prepare(host, 4);
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    poll_stream(stream);
    is_mem(host, want, SIZE, "%s: there once a query says that the stream is done", kind);
    finish();

    prepare(host, 5);
    struct compare compare = {host, -1};
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    CHECK(cuLaunchHostFunc(stream, compare_now, &compare));
    CHECK(cuStreamSynchronize(stream));
    is_int(compare.equal, 1, "%s: there when a host function behind it runs", kind);
    finish();

    prepare(host, 6);
    CUstream other;
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(other, event, 0));
    CHECK(cuStreamSynchronize(other));
    is_mem(host, want, SIZE, "%s: there once a stream that waited for it is synchronized", kind);
    CHECK(cuStreamDestroy(other));
    finish();

    prepare(host, 7);
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    CHECK(cuCtxSynchronize());
    is_mem(host, want, SIZE, "%s: there once the context is synchronized", kind);

    CUstream blocking;
    uint32_t word;
    prepare(host, 8);
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, blocking));
    CHECK(cuMemcpyDtoH(&word, device, 4));
    is_mem(host, want, SIZE, "%s: there after a synchronous copy on the default stream", kind);
    finish();

    prepare(host, 9);
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, blocking));
    CHECK(cuStreamSynchronize(NULL));
    is_mem(host, want, SIZE, "%s: there once the default stream is synchronized", kind);
    CHECK(cuStreamDestroy(blocking));
    finish();

    prepare(host, 10);
    CHECK(cuMemcpyDtoHAsync(host, device, SIZE, CU_STREAM_PER_THREAD));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    is_mem(host, want, SIZE, "%s: there once the thread's own stream is synchronized", kind);
    finish();
    CHECK(cuEventDestroy(event));
}

// A later copy of the same stream must not overtake: the last one wins.
static void keeps_order(unsigned char *host, const char *kind)
{
    unsigned n = SIZE / 4, one = 1, wrong = 0;
    CUfunction add = kernel(&gpu, "add");
    CHECK(cuMemsetD8(device, 0, SIZE));
    CHECK(cuCtxSynchronize());
    for (unsigned round = 1; round <= 20; round++) {
        launch(add, 4, 256, stream, &device, &one, &n);
        CHECK(cuMemcpyDtoHAsync(host, device, SIZE, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < n; i++)
        wrong += ((uint32_t *)host)[i] != 20;
    is_int(wrong, 0, "%s: of 20 copies to one buffer the last one stays", kind);
}

static void source_can_be_reused(unsigned char *host, bool pinned, const char *kind)
{
    static const size_t sizes[] = {64, 4096, 60000, 512 * 1024, SIZE};
    unsigned wrong = 0;
    unsigned char *got = must_alloc(SIZE);
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (unsigned round = 0; round < 30; round++) {
        size_t size = sizes[round % 5];
        fill_random(want, size, round + 100);
        memcpy(host, want, size);
        CHECK(cuMemcpyHtoDAsync(device, host, size, stream));
        if (pinned && round % 2)
            CHECK(cuStreamSynchronize(stream));
        else if (pinned) {
            CHECK(cuEventRecord(event, stream));
            poll_event(event);
        }
        memset(host, 0xEE, size);
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemcpyDtoH(got, device, size));
        wrong += memcmp(got, want, size) != 0;
    }
    is_int(wrong, 0, "%s: the source can be overwritten %s", kind,
           pinned ? "once its stream is done" : "as soon as the copy call returns");

    wrong = 0;
    for (unsigned round = 0; round < 30; round++) {
        size_t size = sizes[round % 5];
        fill_random(want, size, round + 200);
        memcpy(host, want, size);
        CHECK(cuMemcpyHtoD(device, host, size));
        memset(host, 0xEE, size);
        CHECK(cuMemcpyDtoH(got, device, size));
        wrong += memcmp(got, want, size) != 0;
    }
    is_int(wrong, 0, "%s: after a synchronous copy at once", kind);
    CHECK(cuEventDestroy(event));
    free(got);
}

// Checks that work after a copy of its own stream waits for the bytes, however long they take.
static void kernel_waits_for_copy(unsigned char *host, const char *kind)
{
    unsigned n = SIZE / 4, one = 1, wrong = 0;
    uint32_t *numbers = (uint32_t *)host, *got = must_alloc(SIZE);
    CUfunction add = kernel(&gpu, "add");
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < n; i++)
            numbers[i] = i * round;
        CHECK(cuMemcpyHtoDAsync(device, host, SIZE, stream));
        launch(add, 4, 256, stream, &device, &one, &n);
        CHECK(cuMemcpyDtoHAsync(got, device, SIZE, stream));
        CHECK(cuStreamSynchronize(stream));
        for (unsigned i = 0; i < n; i++)
            wrong += got[i] != i * round + 1;
    }
    is_int(wrong, 0, "%s: a kernel behind a copy finds the bytes copied", kind);
    free(got);
}

static void freed_in_use(void)
{
    unsigned n = SIZE / 4, one = 1;
    unsigned long long pause = 20000000;
    unsigned char *got = must_alloc(SIZE);
    CUdeviceptr data = device_alloc(SIZE);
    CHECK(cuMemsetD8(data, 0, SIZE));
    CHECK(cuCtxSynchronize());
    launch(kernel(&gpu, "delay"), 1, 1, stream, &pause);
    launch(kernel(&gpu, "add"), 4, 256, stream, &data, &one, &n);
    CHECK(cuMemcpyDtoHAsync(got, data, SIZE, stream));
    gives(cuMemFree(data), CUDA_SUCCESS, "memory in use can be freed");
    CHECK(cuStreamSynchronize(stream));
    ok(((uint32_t *)got)[0] == 1 && ((uint32_t *)got)[n - 1] == 1,
       "and the work that used it was right");
    free(got);

    CUstream doomed;
    CHECK(cuStreamCreate(&doomed, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32(device, 0, n));
    CHECK(cuCtxSynchronize());
    launch(kernel(&gpu, "delay"), 1, 1, doomed, &pause);
    launch(kernel(&gpu, "add"), 4, 256, doomed, &device, &one, &n);
    gives(cuStreamDestroy(doomed), CUDA_SUCCESS, "a busy stream can be destroyed");
    CHECK(cuCtxSynchronize());
    uint32_t word = 0;
    CHECK(cuMemcpyDtoH(&word, device, 4));
    is_int(word, 1, "and its work is still done");
}

int main(void)
{
    unsigned char *pinned, *pageable = must_alloc(SIZE);
    gpu = open_gpu(0);
    want = must_alloc(SIZE);
    device = device_alloc(SIZE);
    CHECK(cuMemAllocHost((void **)&pinned, SIZE));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    launch(kernel(&gpu, "empty"), 1, 1, stream, NULL);
    CHECK(cuCtxSynchronize());
    arrives(pinned, "pinned");
    arrives(pageable, "pageable");
    keeps_order(pinned, "pinned");
    keeps_order(pageable, "pageable");
    source_can_be_reused(pinned, true, "pinned");
    source_can_be_reused(pageable, false, "pageable");
    kernel_waits_for_copy(pinned, "pinned");
    kernel_waits_for_copy(pageable, "pageable");
    freed_in_use();
    CHECK(cuStreamDestroy(stream));
    CHECK(cuStreamDestroy(busy));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(device));
    free(pageable);
    free(want);
    close_gpu(&gpu);
    return done();
}
