// SPDX-License-Identifier: BSD-3-Clause
// Measures copies and event waits between the first two devices of the libcuda.so.1 it is started
// with, and prints one JSON line per figure. The devices are two native GPUs, or GPUs of one box or
// of two. bench/between compares.
//
//   between [--max BYTES]     all copies up to this size, and event waits
//   between --only BYTES      copies of one size, and no event waits
//   --memory plain|vmm|pool   (as first option) memory of cuMemAlloc, cuMemMap, or a device's pool
#include <stdlib.h>
#include <time.h>

#include "tests/programs/driver.h"

enum { KIB = 1024, MIB = 1024 * KIB, WAITS = 500 };

static struct gpu gpu[2];
static CUstream stream[2];
static int reach; // the devices can access each other's memory

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void on(int device)
{
    CHECK(cuCtxSetCurrent(gpu[device].context));
}

static void figure(const char *name, size_t size, double value, const char *unit)
{
    printf("{\"figure\": \"%s\", \"size\": %zu, \"value\": %.6g, \"unit\": \"%s\"}\n", name, size,
           value, unit);
    fflush(stdout);
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

static double copies(CUdeviceptr to, CUdeviceptr from, size_t size, unsigned times)
{
    double began = now();
    for (unsigned i = 0; i < times; i++)
        CHECK(cuMemcpyPeerAsync(to, gpu[1].context, from, gpu[0].context, size, stream[0]));
    CHECK(cuStreamSynchronize(stream[0]));
    return now() - began;
}

// ---- memory, which is never freed ----

static CUdeviceptr plain_memory(int device, size_t size)
{
    return device_alloc(size);
}

static CUdeviceptr mapped_memory(int device, size_t size)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle memory;
    CUdeviceptr address;
    size_t granularity;
    CHECK(
        cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    size = (size + granularity - 1) / granularity * granularity;
    CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
    CHECK(cuMemCreate(&memory, size, &properties, 0));
    CHECK(cuMemMap(address, size, 0, memory, 0));
    CHECK(cuMemSetAccess(address, size, &access, 1));
    if (reach) { // a copy over NVLink needs access by both GPUs
        access.location.id = !device;
        CHECK(cuMemSetAccess(address, size, &access, 1));
    }
    return address;
}

static CUdeviceptr pooled_memory(int device, size_t size)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, !device},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemoryPool pool;
    CUdeviceptr address;
    CHECK(cuDeviceGetDefaultMemPool(&pool, device));
    if (reach)
        CHECK(cuMemPoolSetAccess(pool, &access, 1));
    CHECK(cuMemAllocAsync(&address, size, stream[device]));
    CHECK(cuStreamSynchronize(stream[device]));
    return address;
}

static const struct memory {
    const char *name;
    CUdeviceptr (*allocate)(int device, size_t size);
} memories[] = {{"plain", plain_memory}, {"vmm", mapped_memory}, {"pool", pooled_memory}};
static const struct memory *memory = &memories[0];

// ---- figures ----

// Measures the rate of many queued copies, and the time of a single copy.
static void measure_copies(size_t least, size_t largest)
{
    CUdeviceptr from, to;
    on(1);
    to = memory->allocate(1, largest);
    on(0);
    from = memory->allocate(0, largest);
    CHECK(cuMemsetD8(from, 1, largest));
    CHECK(cuCtxSynchronize());
    static const size_t sizes[] = {4 * KIB,  64 * KIB, 1 * MIB,   4 * MIB,   16 * MIB,
                                   32 * MIB, 64 * MIB, 128 * MIB, 256 * MIB, 512 * MIB};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t size = least == largest ? largest : sizes[i];
        if (size < least || size > largest)
            continue;
        copies(to, from, size, 3);
        double alone = copies(to, from, size, 1);
        for (int again = 0; again < 4; again++)
            alone = less(alone, copies(to, from, size, 1));
        unsigned times = (unsigned)(0.2 / alone) + 1;
        times = times > 1000 ? 1000 : times;
        double all = copies(to, from, size, times);
        figure("copy_alone", size, alone * 1e6, "us");
        figure("copy_rate", size, (double)size * times / all * 1e-9, "GB/s");
        if (least == largest)
            return;
    }
}

static void measure_waits(void)
{
    CUevent event[2];
    for (int d = 0; d < 2; d++) {
        on(d);
        CHECK(cuEventCreate(&event[d], CU_EVENT_DISABLE_TIMING));
    }
    double best = 0;
    for (int round = 0; round < 3; round++) {
        double began = now();
        for (int i = 0; i < WAITS; i++)
            for (int d = 0; d < 2; d++) {
                on(d);
                CHECK(cuEventRecord(event[d], stream[d]));
                CHECK(cuStreamWaitEvent(stream[!d], event[d], 0));
            }
        on(0);
        CHECK(cuStreamSynchronize(stream[0]));
        double each = (now() - began) / (2 * WAITS);
        best = !best || each < best ? each : best;
    }
    figure("event_wait", 0, best * 1e6, "us");
}

// Removes --memory KIND from the arguments.
static void choose_memory(int *argc, char ***argv)
{
    if (*argc < 3 || strcmp((*argv)[1], "--memory"))
        return;
    size_t i = 0;
    while (i < sizeof(memories) / sizeof(memories[0]) && strcmp(memories[i].name, (*argv)[2]))
        i++;
    if (i == sizeof(memories) / sizeof(memories[0]))
        bail("--memory is plain, vmm or pool");
    memory = &memories[i];
    *argc -= 2;
    *argv += 2;
}

int main(int argc, char **argv)
{
    choose_memory(&argc, &argv);
    size_t largest = argc == 3 ? strtoull(argv[2], NULL, 0) : (size_t)256 << 20;
    int count = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    if (count < 2)
        bail("one device only");
    for (int d = 0; d < 2; d++) {
        gpu[d] = open_gpu(d);
        CHECK(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
    }
    for (int d = 0; d < 2; d++) {
        on(d);
        CHECK(cuDeviceCanAccessPeer(&reach, gpu[d].device, gpu[!d].device));
        if (reach)
            CHECK(cuCtxEnablePeerAccess(gpu[!d].context, 0));
    }
    bool only = argc == 3 && !strcmp(argv[1], "--only");
    measure_copies(only ? largest : 4 * KIB, largest);
    if (!only)
        measure_waits();
    return 0;
}
