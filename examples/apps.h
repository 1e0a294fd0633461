// SPDX-License-Identifier: BSD-3-Clause
// Implements the common parts of the examples with librgpu: a team over all GPUs, its memory, and
// the comparison of two ways to work together. One way uses puts and signals, the other kernels and
// copies with waits of the program in between.
#ifndef RGPU_EXAMPLES_APPS_H
#define RGPU_EXAMPLES_APPS_H

#include <cuda.h>
#include <rgpu.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16 };

__asm__(".pushsection .rodata\n"
        "apps_ptx: .incbin \"examples/apps.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char apps_ptx[] __attribute__((visibility("hidden")));

#define CU(call) check((call), #call, "")
#define RGPU(call) check((call), #call, rgpu_error_text())
static inline void check(int result, const char *call, const char *text)
{
    if (!result)
        return;
    fprintf(stderr, "%s gave %d %s\n", call, result, text);
    exit(1);
}

static int gpus;
static CUcontext contexts[MOST];
static CUstream streams[MOST];
static CUmodule modules[MOST];
static struct rgpu_team *team;

static inline void open_gpus(void)
{
    CU(cuInit(0));
    CU(cuDeviceGetCount(&gpus));
    gpus = gpus < MOST ? gpus : MOST;
    for (int g = 0; g < gpus; g++) {
        CU(cuDevicePrimaryCtxRetain(&contexts[g], g));
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuStreamCreate(&streams[g], CU_STREAM_NON_BLOCKING));
        CU(cuModuleLoadData(&modules[g], apps_ptx));
    }
    RGPU(rgpu_team_create(&team, contexts, gpus));
}

static inline void close_gpus(void)
{
    rgpu_team_destroy(&team);
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuStreamDestroy(streams[g]));
        CU(cuModuleUnload(modules[g]));
        CU(cuDevicePrimaryCtxRelease(g));
    }
}

static inline void allocate(CUdeviceptr *memory, size_t *sizes, size_t size)
{
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemAlloc(&memory[g], sizes[g] = size));
    }
}

static inline void release(const CUdeviceptr *memory)
{
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemFree(memory[g]));
    }
}

#define LAUNCH(g, name, grid_x, grid_y, block, ...) \
    launch_on((g), (name), (grid_x), (grid_y), (block), (void *[]){__VA_ARGS__})
static inline void launch_on(int g, const char *name, unsigned int grid_x, unsigned int grid_y,
                             unsigned int block, void **parameters)
{
    CUfunction function;
    CU(cuCtxSetCurrent(contexts[g]));
    CU(cuModuleGetFunction(&function, modules[g], name));
    CU(cuLaunchKernel(function, grid_x, grid_y, 1, block, 1, 1, 0, streams[g], parameters, NULL));
}

static inline void wait_for_all(void)
{
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuStreamSynchronize(streams[g]));
    }
}

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double timed(void (*run)(unsigned int), unsigned int steps)
{
    wait_for_all();
    double start = seconds();
    run(steps);
    wait_for_all();
    return seconds() - start;
}

// Returns the larger difference; NaN counts as the largest.
static inline double larger(double most, float a, float b)
{
    double difference = fabs((double)a - (double)b);
    return isnan(most) || difference <= most ? most : difference;
}

// A computation implemented in two ways.
struct two_ways {
    const char *name;
    void (*start)(void); // restores the state before the first step
    void (*by_copies)(unsigned int steps), (*by_puts)(unsigned int steps);
    float *(*result)(unsigned int steps); // malloc'd
    // difference of the present state from a result
    double (*difference)(const float *want, unsigned int steps);
};

// Checks that both ways give the same result, except for the order of additions, and compares their
// times.
static inline int compare_ways(const struct two_ways *work, unsigned int steps)
{
    work->start();
    timed(work->by_copies, 2); // warm-up
    timed(work->by_puts, 2);
    work->start();
    double copies = timed(work->by_copies, steps);
    float *want = work->result(steps);
    work->start();
    double puts = timed(work->by_puts, steps);
    double difference = work->difference(want, steps);
    free(want);
    printf("%s: gpus=%d steps=%u copies_us=%.1f puts_us=%.1f speedup=%.2f difference=%g\n",
           work->name, gpus, steps, 1e6 * copies / steps, 1e6 * puts / steps, copies / puts,
           difference);
    return !(difference < 1e-4);
}

static inline unsigned int number_of(char **argv, int argc, int i, unsigned int preset)
{
    return i < argc ? (unsigned int)strtoul(argv[i], NULL, 10) : preset;
}

#endif
