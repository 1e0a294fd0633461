// SPDX-License-Identifier: BSD-3-Clause
// Newer CUDA C++ through nvcc: cooperative groups, barriers in shared memory, pipelines, scoped
// atomics, virtual functions, new and delete, 16-bit floats, 128-bit integers.
#include "tests/ptx/nvcc.h"

static struct ptx_module *module;
static int allocated;

static uint64_t allocate(void *argument, size_t size)
{
    __atomic_add_fetch(&allocated, 1, __ATOMIC_SEQ_CST);
    return (uintptr_t)gpu_alloc(size);
}

static void release(void *argument, uint64_t address)
{
    __atomic_sub_fetch(&allocated, 1, __ATOMIC_SEQ_CST);
}

static int run(const char *name, unsigned grid, unsigned block, void *out, const void *in)
{
    struct {
        void *out;
        const void *in;
    } params = {out, in};
    struct ptx_launch launch = {.function = ptx_module_find(module, name),
                                .grid = {grid, 1, 1},
                                .block = {block, 1, 1},
                                .params = &params,
                                .threads = 1,
                                .memory = {NULL, engine_find},
                                .allocate = allocate,
                                .release = release};
    int result = ptx_launch_run(&launch, &engine_fault);

    if (result)
        diag("%s: %d %s", name, result, engine_fault.text);
    return result;
}

static void test_groups(void)
{
    int *out = gpu_alloc(64 * 4), wrong = 0;

    is_int(run("groups", 1, 64, out, NULL), 0, "cooperative groups run");
    for (int i = 0; i < 64; i++) {
        int want = (i / 8 * 8) * 8 + 28 + 1000 * (i % 8 + 1);
        int some = 11; // multiples of three in either warp

        if (i % 3 == 0)
            want += 100000 * some + 10000000 * some;
        wrong += out[i] != want;
    }
    is_int(wrong, 0, "tiles reduce and scan, coalesced threads find each other");
}

static void test_copies(void)
{
    int *out = gpu_alloc(128 * 4), *in = gpu_alloc(128 * 4), wrong = 0;

    for (int i = 0; i < 128; i++)
        in[i] = i * i;
    is_int(run("shared_barrier", 1, 128, out, in), 0, "a barrier in shared memory");
    for (int i = 0; i < 128; i++)
        wrong += out[i] != 5 * (127 - i) * (127 - i);
    is_int(wrong, 0, "waits for copies and threads");
    memset(out, 0, 128 * 4);
    is_int(run("pipeline", 1, 128, out, in), 0, "a pipeline of copies");
    wrong = 0;
    for (int i = 0; i < 128; i++) {
        int want = 0;

        for (int k = 0; k < 4; k++)
            want += in[(i + k) % 128];
        wrong += out[i] != want;
    }
    is_int(wrong, 0, "delivers what was copied");
}

static void test_rest(void)
{
    int *out = gpu_alloc(64 * 4), wrong = 0;
    float *real = gpu_alloc(32 * 4);
    long long *wide = gpu_alloc(33 * 8), *in = gpu_alloc(34 * 8);

    is_int(run("scoped_atomics", 4, 64, out, NULL), 0, "scoped atomics run");
    ok(out[0] == 3 * 256 && out[1] == 63, "and count");
    is_int(run("virtual_functions", 1, 64, out, NULL), 0, "virtual functions run");
    for (int i = 0; i < 64; i++)
        wrong += out[i] != (i % 2 ? i * i : 3 * i);
    is_int(wrong, 0, "each object has its own");
    is_int(allocated, 0, "what was made with new is deleted");
    is_int(run("halves", 1, 32, real, NULL), 0, "16-bit floats run");
    wrong = 0;
    for (int i = 0; i < 32; i++) {
        float x = (float)i * 0.25f;
        float want = x * x + 1 + sqrtf(x) + (x > 2 ? 100 : 0);

        wrong += fabsf(real[i] - want) > 0.01f * want;
    }
    is_int(wrong, 0, "and are close");
    for (int i = 0; i < 34; i++)
        in[i] = (long long)((uint64_t)(i + 1) * 0x9E3779B97F4A7C15ull) >> (i % 20);
    is_int(run("wide", 1, 32, wide, in), 0, "128-bit integers run");
    wrong = 0;
    for (int i = 0; i < 32; i++) {
        long long a = in[i], b = in[i + 1];
        uint64_t want = (uint64_t)(((__int128)a * b) >> 40) +
                        (uint64_t)((__int128)a * 1000 / (b | 1)) +
                        (uint64_t)(((__int128)a * b) >> 64) +
                        (uint64_t)(((unsigned __int128)(uint64_t)a * (uint64_t)b) >> 64);

        wrong += (uint64_t)wide[i] != want;
    }
    is_int(wrong, 0, "and are exact");
}

int main(void)
{
    static const char *const options[] = {"-std=c++17 -arch=sm_90", "-std=c++17 -arch=sm_75"};

    if (!nvcc_path())
        skip_all("no nvcc");
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        char *text = nvcc_compile("tests/ptx/kernels/modern.cu", options[i]);

        module = engine_load(text);
        diag("%s", options[i]);
        test_groups();
        test_copies();
        test_rest();
        ptx_module_free(&module);
        gpu_free_all();
        free(text);
    }
    return done();
}
