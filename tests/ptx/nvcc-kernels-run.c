// SPDX-License-Identifier: BSD-3-Clause
// Ordinary CUDA C++ kernels, as nvcc compiles them for two architectures and for debugging.
#include "tests/ptx/nvcc.h"

static struct ptx_module *module;

static int run(const char *name, unsigned grid, unsigned block, const void *params)
{
    return engine_launch(module, name, (struct launch_shape){grid, block, 0}, params);
}

static void test_saxpy(const char *how)
{
    enum { N = 5000 };
    float *x = gpu_alloc(N * 4), *y = gpu_alloc(N * 4);
    struct {
        int n;
        float a;
        float *x, *y;
    } params = {N, 3, x, y};
    int wrong = 0;

    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    is_int(run("saxpy", 20, 256, &params), 0, "%s: saxpy runs", how);
    for (int i = 0; i < N; i++)
        wrong += y[i] != 3.0f * (float)i + 1;
    is_int(wrong, 0, "%s: saxpy is right", how);
}

static void test_matmul(const char *how)
{
    enum { N = 64 };
    float *a = gpu_alloc(N * N * 4), *b = gpu_alloc(N * N * 4), *c = gpu_alloc(N * N * 4);
    struct {
        int n;
        float *a, *b, *c;
    } params = {N, a, b, c};
    struct ptx_launch launch = {.function = ptx_module_find(module, "matmul"),
                                .grid = {N / 16, N / 16, 1},
                                .block = {16, 16, 1},
                                .params = &params,
                                .memory = {NULL, engine_find},
                                .threads = 2};
    int wrong = 0;

    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 13);
        b[i] = (float)(i % 7 - 3);
    }
    is_int(ptx_launch_run(&launch, &engine_fault), 0, "%s: matmul runs", how);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;

            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j];
            wrong += sum != c[i * N + j];
        }
    is_int(wrong, 0, "%s: matmul is right", how);
}

static void test_reduce(const char *how)
{
    enum { N = 100000 };
    int *x = gpu_alloc(N * 4), *sum = gpu_alloc(4), want = 0;
    long long *wide = gpu_alloc(8);
    struct {
        int n;
        int *x, *sum;
        long long *wide;
    } params = {N, x, sum, wide};

    for (int i = 0; i < N; i++)
        want += x[i] = i % 1001 - 500;
    is_int(run("reduce", 13, 256, &params), 0, "%s: reduce runs", how);
    is_int(*sum, want, "%s: the sum by shuffles and atomics is right", how);
    is_int(*wide, want, "%s: so is that of 64 bits", how);
}

static void test_struct(const char *how)
{
    struct scale {
        int a;
        double b;
        char c[7];
    };
    double *out = gpu_alloc(64 * 8);
    struct {
        struct scale s;
        double *out;
    } params = {{3, 2.5, {1, 2, 3, 4, 5, 6, 7}}, out};
    static const double cf[3] = {1, 2, 0};
    int wrong = 0;

    is_int(run("struct_param", 1, 32, &params), 0, "%s: a structure is a parameter", how);
    for (int i = 0; i < 32; i++)
        wrong += out[i] != 7.5 + params.s.c[i % 7] + cf[i % 3] + (i % 4 + 1);
    is_int(wrong, 0, "%s: its members, constants and globals are right", how);
}

static void test_functions(const char *how)
{
    int *out = gpu_alloc(64 * 4), fib[64] = {0, 1}, wrong = 0;
    float *real = gpu_alloc(64 * 4);
    struct {
        void *out;
    } params = {out};

    for (int i = 2; i < 64; i++)
        fib[i] = fib[i - 1] + (i < 40 ? fib[i - 2] : 0);
    is_int(run("recursion", 1, 64, &params), 0, "%s: recursion runs", how);
    for (int i = 0; i < 64; i++)
        wrong += out[i] != fib[i % 12];
    is_int(wrong, 0, "%s: each lane recurses to its own depth", how);
    params.out = real;
    is_int(run("indirect", 1, 64, &params), 0, "%s: calls through a table run", how);
    wrong = 0;
    for (int i = 0; i < 64; i++)
        wrong += real[i] != (i % 3 == 0 ? i + 1 : i % 3 == 1 ? i * 2 : i * i);
    is_int(wrong, 0, "%s: each lane calls its own function", how);
    params.out = out;
    is_int(run("switches", 1, 64, &params), 0, "%s: a switch runs", how);
    wrong = 0;
    for (int i = 0; i < 64; i++) {
        int want[8] = {5, i * i, 7 - i, i / 3, i ^ 0x55, i << 3, ~i, -1};

        wrong += out[i] != want[i % 8];
    }
    is_int(wrong, 0, "%s: each lane takes its own case", how);
}

static void test_shared(const char *how)
{
    enum { N = 3000 };
    float *in = gpu_alloc(N * 4), *out = gpu_alloc(N * 4);
    unsigned char *data = gpu_alloc(N);
    unsigned *bins = gpu_alloc(256 * 4), want[256] = {0};
    struct {
        int n;
        void *in, *out;
    } params = {N, in, out};
    int wrong = 0;

    for (int i = 0; i < N; i++) {
        in[i] = (float)i;
        want[data[i] = (unsigned char)(i * i)]++;
    }
    is_int(engine_launch(module, "dynamic_shared", (struct launch_shape){1, 128, N * 4}, &params),
           0, "%s: dynamic shared memory", how);
    for (int i = 0; i < N; i++)
        wrong += out[i] != (float)(N - 1 - i);
    is_int(wrong, 0, "%s: is right", how);
    params.in = data;
    params.out = bins;
    is_int(run("histogram", 7, 96, &params), 0, "%s: a histogram", how);
    is_mem(bins, want, sizeof(want), "%s: counts all", how);
}

static void test_print(const char *how)
{
    int n = 42;

    is_int(run("print", 1, 2, &n), 0, "%s: printf runs", how);
    is_str(engine_output,
           "thread 0 of 2:  0.00|text|A|360777252864|2a|%|42    |000042|1.000000e+100\n"
           "thread 1 of 2:  1.50|text|B|360777252864|2a|%|42    |000042|1.000000e+100\n",
           "%s: and prints", how);
    n = 5;
    is_int(run("asserts", 1, 32, &n), -EFAULT, "%s: a failed assertion ends the launch", how);
    is_int(engine_fault.kind, PTX_FAULT_ASSERT, "%s: as such", how);
    is_int(engine_fault.thread[0], 5, "%s: and names the thread", how);
}

static void test_lock(const char *how)
{
    int *lock = gpu_alloc(4), *counter = gpu_alloc(4);
    struct {
        int *lock, *counter, rounds;
    } params = {lock, counter, 3};

    is_int(run("spin_lock", 3, 96, &params), 0, "%s: lanes, warps and blocks share a lock", how);
    is_int(*counter, 3 * 96 * 3, "%s: and none is lost", how);
}

int main(void)
{
    static const char *const options[] = {"-arch=sm_90", "-arch=sm_75", "-arch=sm_90 -G",
                                          "-arch=sm_80 -use_fast_math"};

    if (!nvcc_path())
        skip_all("no nvcc");
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        char *text = nvcc_compile("tests/ptx/kernels/basics.cu", options[i]);

        module = engine_load(text);
        test_saxpy(options[i]);
        test_matmul(options[i]);
        test_reduce(options[i]);
        test_struct(options[i]);
        test_functions(options[i]);
        test_shared(options[i]);
        test_print(options[i]);
        test_lock(options[i]);
        ptx_module_free(&module);
        gpu_free_all();
        free(text);
    }
    return done();
}
