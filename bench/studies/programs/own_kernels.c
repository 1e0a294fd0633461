// SPDX-License-Identifier: BSD-3-Clause
// Measures with its own kernels what other studies measure with vendors' libraries; runs on any GPU
// and in software.
//
//   own_kernels whole s N     allocation, copies from and to pageable memory, one product; the
//                             product alone
//   own_kernels calls         the cost of a small product: submission, and call with wait
//   own_kernels training STEPS N [NAME]
//                             trains and uses a linear model of N by N; NAME: replaced program
//   own_kernels part N THINK STEPS CLIENTS
//                             one of CLIENTS that use the GPU part of the time: a product, then
//                             THINK milliseconds without; waits for a line after "begin", "end"
//   own_kernels hold MIB      allocates MIB, prints "holds", waits for a line, checks the contents
#include "bench/studies/programs/study.h"

enum { TILE = 16, MAX_SAMPLES = 1000 };

static struct gpu gpu;
static CUfunction product_kernel, saxpy_kernel;

// Returns the median time of `once`, for at most MOST repetitions and ENOUGH seconds; the first
// does not count.
static double median(unsigned most, double enough, void (*once)(void *), void *argument)
{
    static double samples[MAX_SAMPLES];
    unsigned count = 0;
    once(argument);
    double begin = study_now();
    do {
        double start = study_now();
        once(argument);
        samples[count++] = study_now() - start;
    } while (count < most && count < MAX_SAMPLES && study_now() - begin < enough);
    return study_median(samples, count);
}

// Computes c = a b, all of n by n.
static void multiply(CUdeviceptr c, CUdeviceptr a, CUdeviceptr b, int n)
{
    unsigned blocks = (unsigned)(n + TILE - 1) / TILE;
    CHECK(cuLaunchKernel(product_kernel, blocks, blocks, 1, TILE, TILE, 1, 0, NULL,
                         (void *[]){&c, &a, &b, &n}, NULL));
}

// Computes y += a x.
static void add_scaled(CUdeviceptr y, CUdeviceptr x, float a, unsigned count)
{
    launch(saxpy_kernel, (count + 255) / 256, 256, NULL, &y, &x, &a, &count);
}

struct product {
    int n;
    size_t size;
    float *a, *c;
    CUdeviceptr da, db, dc;
};

static void product_whole(void *argument)
{
    struct product *p = argument;
    p->da = device_alloc(p->size);
    p->db = device_alloc(p->size);
    p->dc = device_alloc(p->size);
    CHECK(cuMemcpyHtoD(p->da, p->a, p->size));
    CHECK(cuMemcpyHtoD(p->db, p->a, p->size));
    multiply(p->dc, p->da, p->db, p->n);
    CHECK(cuMemcpyDtoH(p->c, p->dc, p->size));
    CHECK(cuMemFree(p->da));
    CHECK(cuMemFree(p->db));
    CHECK(cuMemFree(p->dc));
}

static void product_alone(void *argument)
{
    struct product *p = argument;
    multiply(p->dc, p->da, p->db, p->n);
    CHECK(cuCtxSynchronize());
}

static struct product product_of(int n)
{
    struct product p = {.n = n, .size = (size_t)n * (size_t)n * 4};
    p.a = must_alloc(p.size);
    p.c = must_alloc(p.size);
    for (size_t i = 0; i < p.size / 4; i++)
        p.a[i] = (float)(i % 7);
    return p;
}

static void on_the_device(struct product *p)
{
    p->da = device_alloc(p->size);
    p->db = device_alloc(p->size);
    p->dc = device_alloc(p->size);
    CHECK(cuMemcpyHtoD(p->da, p->a, p->size));
    CHECK(cuMemcpyHtoD(p->db, p->a, p->size));
}

static void check_product(const struct product *p)
{
    size_t n = (size_t)p->n, row = n * 2 / 3, column = n / 2;
    double want = 0, got = (double)p->c[row * n + column];
    for (size_t k = 0; k < n; k++)
        want += (double)p->a[row * n + k] * (double)p->a[k * n + column];
    if (got - want > 1e-3 * want || want - got > 1e-3 * want)
        bail("n = %d: %g instead of %g", p->n, got, want);
}

static void product(int n)
{
    struct product p = product_of(n);
    double whole = median(15, 0.3, product_whole, &p);
    check_product(&p);
    study_figure("SGEMM", whole * 1e3, "ms");
    on_the_device(&p);
    study_figure("SGEMM, the product alone", 1e3 * median(15, 0.2, product_alone, &p), "ms");
}

static void issue_products(void *argument)
{
    struct product *p = argument;
    for (int i = 0; i < 20; i++)
        multiply(p->dc, p->da, p->db, p->n);
}

static void calls(void)
{
    struct product p = product_of(16);
    on_the_device(&p);
    double start, issued;
    issue_products(&p);
    CHECK(cuCtxSynchronize());
    start = study_now();
    issue_products(&p);
    issued = study_now() - start;
    CHECK(cuCtxSynchronize());
    study_figure("small product, issued", issued / 20 * 1e6, "us");
    study_figure("small product, waited for", 1e6 * median(200, 0.2, product_alone, &p), "us");
}

// A linear model y = x w, trained by least squares. x is symmetric, so it is its own transpose.
struct model {
    int n;
    unsigned count;
    CUdeviceptr x, y, w, guess, slope;
    float rate;
    float *host;
};

static void use_model(void *argument)
{
    struct model *m = argument;
    multiply(m->guess, m->x, m->w, m->n);
    CHECK(cuMemcpyDtoH(m->host, m->guess, m->count * 4ull));
}

static void train(void *argument)
{
    struct model *m = argument;
    multiply(m->guess, m->x, m->w, m->n);
    add_scaled(m->guess, m->y, -1, m->count);
    multiply(m->slope, m->x, m->guess, m->n);
    add_scaled(m->w, m->slope, -m->rate, m->count);
    CHECK(cuCtxSynchronize());
}

static double loss(struct model *m, const float *want)
{
    double sum = 0;
    use_model(m);
    for (unsigned i = 0; i < m->count; i++)
        sum += (double)(m->host[i] - want[i]) * (double)(m->host[i] - want[i]);
    return sum / m->count;
}

static struct model model_of(int n, float *x, float *y)
{
    struct model m = {.n = n, .count = (unsigned)n * (unsigned)n, .rate = 1};
    size_t size = m.count * 4ull;
    m.x = device_alloc(size);
    m.y = device_alloc(size);
    m.w = device_alloc(size);
    m.guess = device_alloc(size);
    m.slope = device_alloc(size);
    m.host = must_alloc(size);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            x[i * n + j] = (i == j ? 0.5f : 0) + 0.3f / (float)n;
            y[i * n + j] = (float)((i * 7 + j * 3) % 11) * 0.1f;
        }
    CHECK(cuMemcpyHtoD(m.x, x, size));
    CHECK(cuMemcpyHtoD(m.y, y, size));
    CHECK(cuMemsetD32(m.w, 0, m.count));
    return m;
}

static void training(unsigned steps, int n, const char *name)
{
    float *x = must_alloc((size_t)n * (size_t)n * 4), *y = must_alloc((size_t)n * (size_t)n * 4);
    struct model m = model_of(n, x, y);
    double before = loss(&m, y), step = median(steps, 60, train, &m), after = loss(&m, y);
    if (!(after < before))
        bail("the loss went from %g to %g", before, after);
    if (name) {
        study_figure(name, step, "s");
        return;
    }
    study_figure("linear model, training", step * 1e3, "ms");
    study_figure("linear model, inference", 1e3 * median(20, 0.3, use_model, &m), "ms");
}

static void part(int n, double think, unsigned steps, unsigned clients)
{
    struct product p = product_of(n);
    struct timespec pause = {(time_t)(think / 1e3), (long)(think * 1e6) % 1000000000};
    double working = 0;
    on_the_device(&p);
    product_alone(&p);
    study_mark("begin");
    double begin = study_now(), spent;
    for (unsigned i = 0; i < steps; i++) {
        double start = study_now();
        product_alone(&p);
        working += study_now() - start;
        nanosleep(&pause, NULL);
    }
    spent = study_now() - begin;
    study_mark("end");
    CHECK(cuMemcpyDtoH(p.c, p.dc, p.size));
    check_product(&p);
    study_figure("a step of one client", spent / steps * 1e3, "ms");
    study_figure("of it, waiting for the GPU", working / steps * 1e3, "ms");
    study_figure("steps of all clients", clients * steps / spent, "/s");
}

// Fills memory with one word and checks the word at both ends later.
static void hold(size_t mebibytes)
{
    const uint32_t word = 0x5eed5eed;
    size_t size = mebibytes << 20;
    CUdeviceptr memory = device_alloc(size);
    uint32_t ends[2] = {0, 0};
    CHECK(cuMemsetD32(memory, word, size / 4));
    CHECK(cuCtxSynchronize());
    printf("holds\n");
    fflush(stdout);
    if (getchar() == EOF)
        return;
    double start = study_now();
    CHECK(cuMemcpyDtoH(&ends[0], memory, 4));
    CHECK(cuMemcpyDtoH(&ends[1], memory + size - 4, 4));
    study_figure("first calls afterwards", (study_now() - start) * 1e3, "ms");
    if (ends[0] != word || ends[1] != word)
        bail("the memory is not what it was");
    CHECK(cuMemFree(memory));
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    int first = count > 2 ? atoi(arguments[2]) : 0;
    gpu = open_gpu(0);
    product_kernel = kernel(&gpu, "matmul");
    saxpy_kernel = kernel(&gpu, "saxpy");
    if (!strcmp(mode, "whole") && count == 4 && atoi(arguments[3]) > 0)
        product(atoi(arguments[3]));
    else if (!strcmp(mode, "calls") && count == 2)
        calls();
    else if (!strcmp(mode, "training") && (count == 4 || count == 5) && first > 0 &&
             atoi(arguments[3]) > 0)
        training((unsigned)first, atoi(arguments[3]), arguments[4]);
    else if (!strcmp(mode, "part") && count == 6 && first > 0 && atoi(arguments[4]) > 0)
        part(first, atof(arguments[3]), (unsigned)atoi(arguments[4]), (unsigned)atoi(arguments[5]));
    else if (!strcmp(mode, "hold") && count == 3 && first > 0)
        hold((size_t)first);
    else
        bail(
            "usage: own_kernels whole s N | calls | training STEPS N [NAME] | part N THINK STEPS CLIENTS | hold MIB");
    close_gpu(&gpu);
    return 0;
}
