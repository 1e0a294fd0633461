// SPDX-License-Identifier: BSD-3-Clause
// usage: endure --to | --from   copies 16 MiB to or from the device until it is stopped, and prints
//                               "round 0" after the first copy; errors as below
//        endure [ROUNDS]        copies, computes and checks until it is stopped (or for ROUNDS
//                               rounds), and prints "round N" after each. At the first error it
//                               prints "error NAME", then "sticky" if later calls fail too, and
//                               ends with 3.
//        endure --busy          holds 16 MiB and runs kernels one after another until it is
//                               stopped, and prints "round 0" after the first
//        endure --free          prints how many MiB of the device are free
//        endure --hold MIB      allocates, prints "holding", and waits to be killed
#include <unistd.h>

#include "tests/programs/driver.h"

static void report(CUresult result)
{
    CUdeviceptr memory;
    uint32_t word = 0;
    printf("error %s\n", result_name(result));
    CUresult again = cuCtxSynchronize(), allocation = cuMemAlloc(&memory, 4096);
    cuMemcpyDtoH(&word, memory, 4);
    printf(again && allocation ? "sticky\n" : "not sticky: %s, %s\n", result_name(again),
           result_name(allocation));
    exit(3);
}
#define TRY(call) \
    do { \
        CUresult r_ = (call); \
        if (r_) \
            report(r_); \
    } while (0)

static void rounds(unsigned limit)
{
    const unsigned n = 4 << 20;
    const size_t size = n * 4ull;
    struct gpu gpu = open_gpu(0);
    CUfunction add = kernel(&gpu, "add");
    uint32_t *host = must_alloc(size);
    CUdeviceptr data = device_alloc(size);
    for (unsigned round = 0; !limit || round < limit; round++) {
        unsigned few = 1000;
        for (unsigned i = 0; i < n; i++)
            host[i] = i ^ round;
        TRY(cuMemcpyHtoD(data, host, size));
        TRY(cuLaunchKernel(add, 4, 1, 1, 128, 1, 1, 0, NULL, (void *[]){&data, &round, &few},
                           NULL));
        TRY(cuMemcpyDtoH(host, data, size));
        for (unsigned i = 0; i < n; i++)
            if (host[i] != (i ^ round) + (i < few ? round : 0)) {
                printf("wrong at %u in round %u\n", i, round);
                exit(4);
            }
        printf("round %u\n", round);
        fflush(stdout);
    }
    free(host);
    close_gpu(&gpu);
}

static void one_way(bool to)
{
    const size_t size = 16 << 20;
    open_gpu(0);
    uint32_t *host = must_alloc(size);
    CUdeviceptr data = device_alloc(size);
    for (unsigned copies = 0;; copies++) {
        TRY(to ? cuMemcpyHtoD(data, host, size) : cuMemcpyDtoH(host, data, size));
        if (!copies)
            printf("round 0\n");
    }
}

static void busy(void)
{
    struct gpu gpu = open_gpu(0);
    CUfunction delay = kernel(&gpu, "delay");
    unsigned long long pause = 50000000; // nanoseconds
    device_alloc(16 << 20);
    for (unsigned kernels = 0;; kernels++) {
        launch(delay, 1, 1, NULL, &pause);
        TRY(cuCtxSynchronize());
        if (!kernels)
            printf("round 0\n");
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && !strcmp(argv[1], "--free")) {
        size_t available, total;
        struct gpu gpu = open_gpu(0);
        CHECK(cuMemGetInfo(&available, &total));
        printf("%zu\n", available >> 20);
        close_gpu(&gpu);
        return 0;
    }
    if (argc > 2 && !strcmp(argv[1], "--hold")) {
        struct gpu gpu = open_gpu(0);
        device_alloc(strtoull(argv[2], NULL, 0) << 20);
        launch(kernel(&gpu, "empty"), 1, 1, NULL, NULL);
        CHECK(cuCtxSynchronize());
        printf("holding\n");
        for (;;)
            pause();
    }
    if (argc > 1 && !strcmp(argv[1], "--busy"))
        busy();
    if (argc > 1 && !strncmp(argv[1], "--", 2))
        one_way(!strcmp(argv[1], "--to"));
    rounds(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    printf("done\n");
    return 0;
}
