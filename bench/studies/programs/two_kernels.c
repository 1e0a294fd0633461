// SPDX-License-Identifier: BSD-3-Clause
// Runs SAXPY or a matrix product as a whole program, between marks: allocation, copies, kernel,
// copy back.
//
//   two_kernels saxpy|matmul N [TIMES]
//
// The figure is the median time of one run. The runner counts context switches of all TIMES (20; 0:
// as many as fit into STUDY_SECONDS). STUDY_NAIVE=1 registers the memory for each copy and waits
// after each call. STUDY_REST=1 uses no GPU and only lets the time pass.
#include <math.h>

#include "bench/studies/programs/study.h"

struct work {
    struct gpu gpu;
    CUfunction function;
    size_t count;
    int n;
    bool product;
    float *a, *b, *result;
};

static void settle(void)
{
    if (study_naive())
        CHECK(cuCtxSynchronize());
}

static CUdeviceptr filled(float *host, size_t size)
{
    CUdeviceptr device = device_alloc(size);
    settle();
    study_copy(true, device, host, size);
    return device;
}

static double saxpy_once(struct work *w)
{
    const float factor = 1.5f;
    unsigned n = (unsigned)w->count;
    double start = study_now();
    CUdeviceptr x = filled(w->a, w->count * 4), y = filled(w->b, w->count * 4);
    launch(w->function, (n + 255) / 256, 256, NULL, &y, &x, (void *)&factor, &n);
    settle();
    study_copy(false, y, w->result, w->count * 4);
    CHECK(cuMemFree(x));
    CHECK(cuMemFree(y));
    settle();
    return study_now() - start;
}

static double product_once(struct work *w)
{
    unsigned tiles = (unsigned)(w->n + 15) / 16;
    double start = study_now();
    CUdeviceptr a = filled(w->a, w->count * 4), b = filled(w->b, w->count * 4),
                c = device_alloc(w->count * 4);
    void *parameters[] = {&c, &a, &b, &w->n};
    CHECK(cuLaunchKernel(w->function, tiles, tiles, 1, 16, 16, 1, 0, NULL, parameters, NULL));
    settle();
    study_copy(false, c, w->result, w->count * 4);
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(c));
    settle();
    return study_now() - start;
}

static void check(const struct work *w)
{
    size_t at = w->count - 1;
    double want = 0, row = (double)w->n - 1;
    if (!w->product)
        want = fmaf(1.5f, w->a[at], w->b[at]);
    else
        for (int k = 0; k < w->n; k++)
            want += (double)w->a[(size_t)row * w->n + k] * w->b[(size_t)k * w->n + w->n - 1];
    if (fabs(w->result[at] - want) > 1e-3 * (1 + fabs(want)))
        bail("wrong result: %g instead of %g", w->result[at], want);
}

static void fill(struct work *w)
{
    w->a = must_alloc(w->count * 4);
    w->b = must_alloc(w->count * 4);
    w->result = must_alloc(w->count * 4);
    for (size_t i = 0; i < w->count; i++) {
        w->a[i] = (float)(i % 7);
        w->b[i] = (float)(i % 5);
    }
}

// Returns the median time in seconds.
static double repeat(struct work *w, int times)
{
    static double samples[STUDY_SAMPLES];
    double (*once)(struct work *) = w->product ? product_once : saxpy_once;
    unsigned count = 0;
    once(w);
    study_mark("begin");
    double end = study_now() + study_seconds(1);
    do
        samples[count++] = once(w);
    while (times ? count < (unsigned)times : count < STUDY_SAMPLES && study_now() < end);
    study_mark("end");
    study_figure("repetitions", count, "");
    return study_median(samples, count);
}

static int rest(void)
{
    double seconds = study_seconds(1);
    struct timespec time = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    study_mark("begin");
    nanosleep(&time, NULL);
    study_mark("end");
    study_figure("repetitions", 0, "");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct work w = {.product = !strcmp(argv[1], "matmul"), .n = atoi(argv[2])};
    int times = argc > 3 ? atoi(argv[3]) : 20;
    if (w.n < 1 || times < 0 || times > STUDY_SAMPLES)
        return 2;
    if (getenv("STUDY_REST"))
        return rest();
    w.count = w.product ? (size_t)w.n * (size_t)w.n : (size_t)w.n;
    w.gpu = open_gpu(0);
    w.function = kernel(&w.gpu, w.product ? "matmul" : "saxpy");
    fill(&w);
    double seconds = repeat(&w, times);
    check(&w);
    study_figure("time", seconds * 1e3, "ms");
    close_gpu(&w.gpu);
    return 0;
}
