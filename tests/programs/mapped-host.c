// SPDX-License-Identifier: BSD-3-Clause
// Page-locked and registered memory that kernels access directly, if the device reports that it
// maps host memory. A kernel sees the host's writes before its launch. The host sees the GPU's
// writes after a synchronization. Both may write to a page at once. A kernel that waits for a value
// sees it if the host has written it before the host waits.
//
//     mapped-host [yes|no]    what the device has to say
#include "tests/programs/driver.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 3 * 65536 + 4096, WORDS = SIZE / 4 };

static struct gpu gpu;
static CUstream stream;

struct memory {
    const char *what;
    unsigned char *bytes;
    CUdeviceptr address;
};

static bool all(const unsigned char *bytes, size_t first, size_t step, unsigned char value)
{
    for (size_t i = first; i < SIZE; i += step)
        if (bytes[i] != value)
            return false;
    return true;
}

static void by_turns(const struct memory *m)
{
    uint32_t count = WORDS, two = 2, *words = (uint32_t *)(void *)m->bytes, wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i;
    for (int turn = 0; turn < 3; turn++) {
        launch(kernel(&gpu, "add"), 32, 128, stream, (void *)&m->address, &two, &count);
        CHECK(cuStreamSynchronize(stream));
        words[7 * turn] += 100;
    }
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += words[i] != i + 6 + (i == 0 || i == 7 || i == 14 ? 100 : 0);
    is_int(wrong, 0, "%s: host and kernels use it by turns", m->what);
}

// The GPU comes to its part when the host has written between its bytes.
static void at_once(const struct memory *m)
{
    unsigned char *back = must_alloc(SIZE);
    memset(m->bytes, 1, SIZE);
    struct hold hold = hold_stream(&gpu, stream);
    CHECK(cuMemsetD2D8Async(m->address, 2, 0xaa, 1, SIZE / 2, stream));
    for (size_t i = 1; i < SIZE; i += 2)
        m->bytes[i] = 0x55;
    hold_release(&hold);
    CHECK(cuStreamSynchronize(stream));
    ok(all(m->bytes, 0, 2, 0xaa) && all(m->bytes, 1, 2, 0x55),
       "%s: the host has what both wrote to its pages at once", m->what);
    CHECK(cuMemcpyDtoH(back, m->address, SIZE));
    ok(all(back, 0, 2, 0xaa) && all(back, 1, 2, 0x55), "%s: so has the GPU", m->what);
    free(back);
}

static void kernel_waits_for_host(const struct memory *m)
{
    volatile uint32_t *flag = (volatile uint32_t *)(void *)m->bytes;
    *flag = 0;
    launch(kernel(&gpu, "wait_flag"), 1, 1, stream, (void *)&m->address);
    is_int(*flag, 0, "%s: the host reads it while a kernel waits for it", m->what);
    *flag = 1;
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS,
          "%s: what the host writes before it waits ends the kernel", m->what);
}

static void other_ways_to_wait(const struct memory *m)
{
    volatile uint32_t *word = (volatile uint32_t *)(void *)(m->bytes + 65536);
    CUdeviceptr address = m->address + 65536;
    uint32_t value = 1;
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    *word = 0;
    launch(kernel(&gpu, "poke"), 1, 1, stream, &address, &value);
    CHECK(cuEventRecord(event, stream));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        ;
    is_int(*word, 1, "%s: an event that has come brings what was written before it", m->what);
    value = 2;
    launch(kernel(&gpu, "poke"), 1, 1, stream, &address, &value);
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        ;
    is_int(*word, 2, "%s: so does a stream that is done", m->what);
    CHECK(cuMemsetD32(address, 3, 1));
    is_int(*word, 3, "%s: it is filled when the call returns", m->what);
    CUdeviceptr data = device_alloc(4);
    CHECK(cuMemsetD32(data, 4, 1));
    CHECK(cuMemcpyDtoH((void *)word, data, 4));
    is_int(*word, 4, "%s: it has been copied to when the call returns", m->what);
    value = 5;
    launch(kernel(&gpu, "poke"), 1, 1, stream, &address, &value);
    CHECK(cuMemcpyHtoDAsync(data, (void *)word, 4, stream));
    CHECK(cuStreamSynchronize(stream));
    uint32_t copied = 0;
    CHECK(cuMemcpyDtoH(&copied, data, 4));
    is_int(copied, 5, "%s: a copy from it finds what a kernel before it wrote", m->what);
    CHECK(cuMemFree(data));
    CHECK(cuEventDestroy(event));
}

// Shows ThreadSanitizer that a function precedes the end of the wait for its stream. The real order
// comes from the box, which it cannot see.
static _Atomic int functions_done;

static void adds_one(void *words)
{
    (*(uint32_t *)words)++;
    functions_done++;
}

static void function_between(const struct memory *m)
{
    uint32_t *words = (uint32_t *)(void *)m->bytes, count = 1, ten = 10;
    words[0] = 0;
    functions_done = 0;
    for (int i = 0; i < 3; i++) {
        launch(kernel(&gpu, "add"), 1, 1, stream, (void *)&m->address, &ten, &count);
        CHECK(cuLaunchHostFunc(stream, adds_one, words));
    }
    CHECK(cuStreamSynchronize(stream));
    is_int(functions_done, 3, "%s: each function has run once", m->what);
    is_int(words[0], 33, "%s: functions in a stream and kernels use it by turns", m->what);
}

static void check(const struct memory *m)
{
    CUdeviceptr asked = 0;
    CHECK(cuPointerGetAttribute(&asked, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                (CUdeviceptr)(uintptr_t)(m->bytes + 100)));
    ok(asked == m->address + 100, "%s: a pointer into it has one for the device", m->what);
    by_turns(m);
    at_once(m);
    kernel_waits_for_host(m);
    other_ways_to_wait(m);
    function_between(m);
}

static void allocated(unsigned int flags)
{
    struct memory m = {.what = flags ? "allocated to be mapped" : "allocated"};
    CHECK(cuMemHostAlloc((void **)&m.bytes, SIZE, flags));
    CHECK(cuMemHostGetDevicePointer(&m.address, m.bytes, 0));
    ok(m.address == (CUdeviceptr)(uintptr_t)m.bytes, "%s: it has one address", m.what);
    ok(all(m.bytes, 0, 1, 0) || flags, "%s: it can be read", m.what);
    check(&m);
    gives(cuMemFreeHost(m.bytes), CUDA_SUCCESS, "%s: it is freed", m.what);
}

static void registered(void)
{
    unsigned char *heap = must_alloc(SIZE + 200);
    struct memory m = {.what = "registered", .bytes = heap + 120};
    m.bytes -= (uintptr_t)m.bytes % 8;
    memset(heap, 9, SIZE + 200);
    CUresult result = cuMemHostRegister(m.bytes, SIZE, 0);
    check_call(result, "cuMemHostRegister", __FILE__, __LINE__);
    result = cuMemHostGetDevicePointer(&m.address, m.bytes, 0);
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
        skip(1, "memory of malloc has no pointer for the device here");
        CHECK(cuMemHostUnregister(m.bytes));
        free(heap);
        return;
    }
    is_int(result, CUDA_SUCCESS, "registered: it has a pointer for the device");
    check(&m);
    gives(cuMemHostUnregister(m.bytes), CUDA_SUCCESS, "registered: it is unregistered");
    memset(m.bytes, 9, SIZE);
    size_t right = 0;
    while (right < SIZE + 200 && heap[right] == 9)
        right++;
    is_int((int)right, SIZE + 200, "registered: nothing else was written to");
    free(heap);
}

static void not_mapped(void)
{
    void *memory;
    CUdeviceptr address;
    unsigned int mapped = 9;
    CHECK(cuMemHostAlloc(&memory, SIZE, 0));
    gives(cuMemHostGetDevicePointer(&address, memory, 0), CUDA_ERROR_NOT_SUPPORTED,
          "where the device maps no host memory there is no pointer");
    CHECK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, (CUdeviceptr)memory));
    is_int(mapped, 0, "and its attributes say so");
    CHECK(cuMemFreeHost(memory));
}

int main(int argc, char **argv)
{
    gpu = open_gpu(0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    int maps = device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    if (argc > 1)
        is_int(maps, strcmp(argv[1], "yes") == 0, "the device maps host memory: %s", argv[1]);
    if (!maps) {
        not_mapped();
        return done();
    }
    allocated(0);
    allocated(CU_MEMHOSTALLOC_DEVICEMAP);
    registered();
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
