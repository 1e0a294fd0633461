// SPDX-License-Identifier: BSD-3-Clause
// Measures CUDA calls through the libcuda.so.1 it is started with, and prints one JSON line per
// figure. It is independent of rgpu: the same program runs natively and through a box, and
// bench/run compares.
//
//   measure [--max-copy BYTES] [--seconds S]   all figures, each repeated for S seconds
//   measure --first          time from main to a usable context
//   measure --idle           opens a session, prints "ready", waits for the end of its input
//   measure --probe          exits with 0 if a device is usable, and prints its name
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/driver.h"

#define MIB (1ull << 20)
#define MAX_SAMPLES 4000

static double seconds_per_figure = 0.15;
static size_t largest_copy = 512 * MIB;
static struct gpu gpu;
static CUstream stream;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void figure(const char *name, double value, const char *unit, unsigned samples)
{
    printf("{\"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"samples\": %u}\n", name,
           value, unit, samples);
    fflush(stdout);
}

// Repeats `once`, which returns the seconds it took, and prints the median in microseconds.
static double repeat(const char *name, double (*once)(void *), void *argument)
{
    static double samples[MAX_SAMPLES];
    unsigned count = 0;
    double end;
    once(argument);
    end = now() + seconds_per_figure;
    do
        samples[count++] = once(argument);
    while (count < 3 || (count < MAX_SAMPLES && now() < end));
    qsort(samples, count, sizeof *samples, by_value);
    if (name)
        figure(name, samples[count / 2] * 1e6, "us", count);
    return samples[count / 2];
}

struct copy {
    void *host;
    CUdeviceptr device;
    size_t size;
    bool to_device, asynchronous;
    int queued;
};

static double copy_once(void *argument)
{
    struct copy *c = argument;
    double start = now();
    if (!c->asynchronous) {
        CHECK(c->to_device ? cuMemcpyHtoD(c->device, c->host, c->size)
                           : cuMemcpyDtoH(c->host, c->device, c->size));
        return now() - start;
    }
    for (int i = 0; i < c->queued; i++)
        CHECK(c->to_device ? cuMemcpyHtoDAsync(c->device, c->host, c->size, stream)
                           : cuMemcpyDtoHAsync(c->host, c->device, c->size, stream));
    CHECK(cuStreamSynchronize(stream));
    return now() - start;
}

static void copies(bool pinned)
{
    static const size_t sizes[] = {64,      4096,     65536,     512 << 10, MIB,
                                   4 * MIB, 32 * MIB, 128 * MIB, 512 * MIB};
    struct copy c = {.asynchronous = pinned, .queued = 1};
    char name[64];
    c.device = device_alloc(largest_copy);
    if (pinned)
        CHECK(cuMemAllocHost(&c.host, largest_copy));
    else
        c.host = must_alloc(largest_copy);
    memset(c.host, 1, largest_copy);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest_copy; i++)
        for (int to_device = 1; to_device >= 0; to_device--) {
            c.size = sizes[i];
            c.to_device = to_device;
            snprintf(name, sizeof name, "copy %s %s %zu", pinned ? "pinned" : "pageable",
                     to_device ? "to" : "from", sizes[i]);
            repeat(name, copy_once, &c);
        }
    if (pinned && largest_copy >= 32 * MIB)
        for (int to_device = 1; to_device >= 0; to_device--) {
            c.size = 32 * MIB;
            c.queued = 10;
            c.to_device = to_device;
            repeat(to_device ? "ten queued 32 MiB copies to" : "ten queued 32 MiB copies from",
                   copy_once, &c);
        }
    if (pinned)
        CHECK(cuMemFreeHost(c.host));
    else
        free(c.host);
    CHECK(cuMemFree(c.device));
}

#define ISSUES 200
static double issue_once(void *function)
{
    double start = now(), spent;
    for (int i = 0; i < ISSUES; i++)
        CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    spent = now() - start;
    CHECK(cuStreamSynchronize(stream));
    return spent / ISSUES;
}

static double launch_once(void *function)
{
    double start = now();
    CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    CHECK(cuStreamSynchronize(stream));
    return now() - start;
}

static double alloc_once(void *unused)
{
    double start = now();
    CUdeviceptr memory = device_alloc(MIB);
    CHECK(cuMemFree(memory));
    return now() - start;
}

static double events_once(void *event)
{
    double start = now();
    CHECK(cuEventRecord(event, stream));
    CHECK(cuEventSynchronize(event));
    return now() - start;
}

struct saxpy {
    CUfunction function;
    float *x, *y;
    CUdeviceptr dx, dy;
    unsigned n;
};

static double saxpy_once(void *argument)
{
    struct saxpy *s = argument;
    const float a = 1.5f;
    double start = now();
    CHECK(cuMemcpyHtoD(s->dx, s->x, s->n * 4ull));
    CHECK(cuMemcpyHtoD(s->dy, s->y, s->n * 4ull));
    launch(s->function, (s->n + 255) / 256, 256, NULL, &s->dy, &s->dx, (void *)&a, &s->n);
    CHECK(cuMemcpyDtoH(s->y, s->dy, s->n * 4ull));
    return now() - start;
}

static void saxpy(unsigned n)
{
    struct saxpy s = {kernel(&gpu, "saxpy"),  must_alloc(n * 4ull),   must_alloc(n * 4ull),
                      device_alloc(n * 4ull), device_alloc(n * 4ull), n};
    for (unsigned i = 0; i < n; i++) {
        s.x[i] = (float)(i % 1000);
        s.y[i] = 0;
    }
    repeat("saxpy of 4M floats", saxpy_once, &s);
    for (unsigned i = 0; i < n; i++)
        s.y[i] = 1;
    saxpy_once(&s);
    for (unsigned i = 0; i < n; i++)
        if (s.y[i] != 1 + 1.5f * (float)(i % 1000))
            bail("saxpy: wrong result at %u", i);
    free(s.x);
    free(s.y);
    CHECK(cuMemFree(s.dx));
    CHECK(cuMemFree(s.dy));
}

struct product {
    CUfunction function;
    float *a, *c;
    int n;
};

// Computes a product as a program does: allocation, copies from and to pageable memory, and the
// product.
static double product_once(void *argument)
{
    struct product *p = argument;
    size_t size = (size_t)p->n * (size_t)p->n * 4;
    unsigned tiles = (unsigned)(p->n + 15) / 16;
    double start = now();
    CUdeviceptr a = device_alloc(size), b = device_alloc(size), c = device_alloc(size);
    CHECK(cuMemcpyHtoD(a, p->a, size));
    CHECK(cuMemcpyHtoD(b, p->a, size));
    void *parameters[] = {&c, &a, &b, &p->n};
    CHECK(cuLaunchKernel(p->function, tiles, tiles, 1, 16, 16, 1, 0, NULL, parameters, NULL));
    CHECK(cuMemcpyDtoH(p->c, c, size));
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(c));
    return now() - start;
}

static void product(int n)
{
    char name[64];
    size_t count = (size_t)n * (size_t)n;
    struct product p = {kernel(&gpu, "matmul"), must_alloc(count * 4), must_alloc(count * 4), n};
    for (size_t i = 0; i < count; i++)
        p.a[i] = (float)(i % 7);
    snprintf(name, sizeof name, "tiled product n=%d", n);
    repeat(name, product_once, &p);
    free(p.a);
    free(p.c);
}

static void all_figures(void)
{
    CUevent event;
    gpu = open_gpu(0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUfunction empty = kernel(&gpu, "empty");
    repeat("launch, issue", issue_once, empty);
    repeat("launch and synchronize", launch_once, empty);
    repeat("event record and synchronize", events_once, event);
    repeat("allocate and free 1 MiB", alloc_once, NULL);
    copies(true);
    copies(false);
    saxpy(4 << 20);
    product(128);
    CHECK(cuEventDestroy(event));
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
}

static void first_call(void)
{
    double start = now();
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CUdeviceptr memory = device_alloc(4096);
    CHECK(cuMemsetD8(memory, 0, 4096));
    CHECK(cuCtxSynchronize());
    figure("first call", (now() - start) * 1e6, "us", 1);
}

static void idle(void)
{
    char byte;
    gpu = open_gpu(0);
    launch(kernel(&gpu, "empty"), 1, 32, NULL, NULL);
    CHECK(cuCtxSynchronize());
    printf("ready\n");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
}

static int probe(void)
{
    char name[256];
    CUdevice device;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
        cuDeviceGetName(name, sizeof name, device) != CUDA_SUCCESS)
        return 1;
    printf("%s\n", name);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--probe"))
            return probe();
        if (!strcmp(argv[i], "--first")) {
            first_call();
            return 0;
        }
        if (!strcmp(argv[i], "--idle")) {
            idle();
            return 0;
        }
        if (!strcmp(argv[i], "--max-copy") && i + 1 < argc)
            largest_copy = strtoull(argv[++i], NULL, 0);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            seconds_per_figure = atof(argv[++i]);
    }
    all_figures();
    return 0;
}
