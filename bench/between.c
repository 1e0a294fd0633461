// SPDX-License-Identifier: BSD-3-Clause
// Measures copies and event waits between the first two devices of whatever libcuda.so.1 it is started with, and prints
// a JSON line per figure: natively, two GPUs of one box, or of two. bench/between compares them.
//
//   between [--max BYTES]     sizes of copies up to this
//   between --only BYTES      copies of one size, and no event waits
#include <stdlib.h>
#include <time.h>

#include "tests/programs/driver.h"

enum { KIB = 1024, WAITS = 500 };

static struct gpu gpu[2];
static CUstream stream[2];

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

static double copies(CUdeviceptr to, CUdeviceptr from, size_t size, unsigned times)
{
    double began = now();
    for (unsigned i = 0; i < times; i++)
        CHECK(cuMemcpyPeerAsync(to, gpu[1].context, from, gpu[0].context, size, stream[0]));
    CHECK(cuStreamSynchronize(stream[0]));
    return now() - began;
}

// Rates of many copies behind each other, and the time of one alone.
static void measure_copies(size_t least, size_t largest)
{
    CUdeviceptr from, to;
    on(1);
    to = device_alloc(largest);
    on(0);
    from = device_alloc(largest);
    CHECK(cuMemsetD8(from, 1, largest));
    CHECK(cuCtxSynchronize());
    for (size_t size = least; size <= largest; size *= 4) {
        copies(to, from, size, 3);
        double alone = copies(to, from, size, 1);
        for (int i = 0; i < 4; i++) {
            double again = copies(to, from, size, 1);
            alone = again < alone ? again : alone;
        }
        unsigned times = (unsigned)(0.2 / alone) + 1;
        times = times > 1000 ? 1000 : times;
        double all = copies(to, from, size, times);
        figure("copy_alone", size, alone * 1e6, "us");
        figure("copy_rate", size, (double)size * times / all * 1e-9, "GB/s");
    }
    CHECK(cuMemFree(from));
    on(1);
    CHECK(cuMemFree(to));
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

int main(int argc, char **argv)
{
    size_t largest = argc == 3 ? strtoull(argv[2], NULL, 0) : (size_t)256 << 20;
    int count = 0, access = 0;
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
        CHECK(cuDeviceCanAccessPeer(&access, gpu[d].device, gpu[!d].device));
        if (access)
            CHECK(cuCtxEnablePeerAccess(gpu[!d].context, 0));
    }
    bool only = argc == 3 && !strcmp(argv[1], "--only");
    measure_copies(only ? largest : 4 * KIB, largest);
    if (!only)
        measure_waits();
    return 0;
}
