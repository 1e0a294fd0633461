// SPDX-License-Identifier: BSD-3-Clause
// Globals, constants and parameters of kernels: the contents of a module, and ways to set the
// values.
#include <math.h>

#include "tests/programs/driver.h"

static void globals(const struct gpu *gpu)
{
    const unsigned n = 1000;
    CUdeviceptr table, factors;
    size_t table_size, factors_size;
    float t[256], f[16], in[1000], out[1000];
    uint64_t seed = 9;
    unsigned wrong = 0;
    CHECK(cuModuleGetGlobal(&table, &table_size, gpu->module, "table"));
    CHECK(cuModuleGetGlobal(&factors, &factors_size, gpu->module, "factors"));
    ok(table_size == sizeof t && factors_size == sizeof f, "globals have their sizes");
    for (unsigned i = 0; i < 256; i++)
        t[i] = random_float(&seed);
    for (unsigned i = 0; i < 16; i++)
        f[i] = random_float(&seed);
    for (unsigned i = 0; i < n; i++)
        in[i] = random_float(&seed);
    CHECK(cuMemcpyHtoD(table, t, sizeof t));
    CHECK(cuMemcpyHtoD(factors, f, sizeof f));
    CUdeviceptr data = device_alloc(sizeof in);
    CHECK(cuMemcpyHtoD(data, in, sizeof in));
    launch(kernel(gpu, "scale_by_constant"), 8, 128, NULL, &data, (void *)&n);
    CHECK(cuMemcpyDtoH(out, data, sizeof out));
    for (unsigned i = 0; i < n; i++)
        wrong += out[i] != fmaf(in[i], f[i & 15], t[i & 255]);
    is_int(wrong, 0, "a kernel reads its module's global and constant memory");
    CHECK(cuMemFree(data));
}

static uint32_t count(CUmodule module)
{
    CUfunction function;
    CUdeviceptr out = device_alloc(4);
    uint32_t got = 0;
    CHECK(cuModuleGetFunction(&function, module, "count"));
    launch(function, 1, 1, NULL, &out);
    CHECK(cuMemcpyDtoH(&got, out, 4));
    CHECK(cuMemFree(out));
    return got;
}

static void two_instances(const struct gpu *gpu)
{
    CUmodule second;
    CHECK(cuModuleLoadData(&second, kernels_ptx));
    is_int(count(gpu->module), 7, "a global starts with its initial value");
    is_int(count(gpu->module), 8, "and keeps what a kernel wrote");
    is_int(count(second), 7, "a second copy of the module has its own");
    CHECK(cuModuleUnload(second));
    is_int(count(gpu->module), 9, "the first stays when the second is unloaded");
}

// A driver may give the variable of a module the address that one of an unloaded module had.
static void variables_after_each_other(void)
{
    enum { SMALL = 64, LARGE = 200 };
    unsigned char in[LARGE], back[LARGE] = {0};
    CUdeviceptr variable;
    CHECK(cuModuleUnload(variable_module(SMALL, &variable)));
    CUmodule module = variable_module(LARGE, &variable);
    fill_random(in, LARGE, 4);
    gives(cuMemcpyHtoD(variable + SMALL, in, LARGE - SMALL), CUDA_SUCCESS,
          "a variable has its own size, not that of an earlier one there");
    CHECK(cuMemcpyDtoH(back, variable + SMALL, LARGE - SMALL));
    ok(!memcmp(in, back, LARGE - SMALL), "up to its last byte");
    CHECK(cuModuleUnload(module));
}

static void parameters(const struct gpu *gpu)
{
    struct mixed {
        char c;
        double d;
        short s;
        int v[3];
    } m = {-3, 2.5, 77, {1, 20, 300}};
    char c = 'x';
    double d = -0.125, got[8];
    short s = -1234;
    float f = 6.5f;
    CUdeviceptr out = device_alloc(sizeof got), df = device_alloc(sizeof f);
    CUfunction function = kernel(gpu, "mixed_parameters");
    CHECK(cuMemcpyHtoD(df, &f, sizeof f));
    launch(function, 1, 1, NULL, &out, &c, &d, &m, &s, &df);
    CHECK(cuMemcpyDtoH(got, out, sizeof got));
    static const double want[] = {'x', -0.125, -3, 2.5, 77, 321, -1234, 6.5};
    is_mem(got, want, sizeof want, "bytes, structures and pointers side by side");

    size_t offset = 99, size = 99;
    CHECK(cuFuncGetParamInfo(function, 3, &offset, &size));
    ok(offset == 24 && size == sizeof m, "the structure lies at 24, of %zu bytes", sizeof m);
    gives(cuFuncGetParamInfo(function, 6, &offset, &size), CUDA_ERROR_INVALID_VALUE,
          "there is no seventh parameter");
    const char *name = NULL;
    CHECK(cuFuncGetName(&name, function));
    is_str(name, "mixed_parameters", "a function knows its name");
    CHECK(cuMemFree(out));
    CHECK(cuMemFree(df));
}

static void dynamic_memory(const struct gpu *gpu)
{
    CUfunction function = kernel(gpu, "dynamic_shared");
    unsigned n = 20000, wrong = 0, small = 100;
    uint32_t *got = must_alloc(n * 4);
    CUdeviceptr out = device_alloc(n * 4);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, small * 4, NULL, (void *[]){&out, &small},
                         NULL));
    CHECK(cuMemcpyDtoH(got, out, small * 4));
    for (unsigned i = 0; i < small; i++)
        wrong += got[i] != (small - 1 - i) * 3;
    is_int(wrong, 0, "shared memory sized by the launch");
    ok(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, n * 4, NULL, (void *[]){&out, &n}, NULL) !=
           CUDA_SUCCESS,
       "80000 bytes of it are refused at first");
    CHECK(
        cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)n * 4));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, n * 4, NULL, (void *[]){&out, &n}, NULL));
    CHECK(cuMemcpyDtoH(got, out, n * 4));
    for (unsigned i = 0; i < n; i++)
        wrong += got[i] != (n - 1 - i) * 3;
    is_int(wrong, 0, "and granted when asked for");
    CHECK(cuMemFree(out));
    free(got);
}

static void attributes(const struct gpu *gpu)
{
    int value = 0;
    CUfunction matmul = kernel(gpu, "matmul");
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, matmul));
    is_int(value, 2048, "static shared memory of a kernel");
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, matmul));
    is_int(value, 1024, "its largest block");
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, matmul));
    ok(value > 0 && value < 256, "its registers");
    gives(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, matmul), CUDA_ERROR_INVALID_VALUE,
          "there is no such attribute");
}

static int shared_of(CUkernel kernel, CUdevice device)
{
    int value = -1;
    CHECK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel,
                               device));
    return value;
}

// Checks that repeated queries return the last value set.
static void set_attributes(const struct gpu *gpu)
{
    int value = 0;
    CUlibrary library;
    CUkernel kernels[2];
    CUfunction function = kernel(gpu, "dynamic_shared");
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    is_int(value, 80000, "what was set before");
    for (int size = 50000; size <= 51000; size += 1000) {
        CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, size));
        CHECK(
            cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
        is_int(value, size, "an attribute that is set is told");
    }
    CHECK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernels[0], library, "dynamic_shared"));
    CHECK(cuLibraryGetKernel(&kernels[1], library, "matmul"));
    int before = shared_of(kernels[0], gpu->device);
    is_int(shared_of(kernels[0], gpu->device), before, "a kernel's is the same when asked again");
    CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, before + 4096,
                               kernels[0], gpu->device));
    is_int(shared_of(kernels[0], gpu->device), before + 4096, "until it is set");
    CHECK(
        cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernels[1], gpu->device));
    is_int(value, 2048, "another kernel has its own");
    CHECK(cuLibraryUnload(library));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    globals(&gpu);
    two_instances(&gpu);
    variables_after_each_other();
    parameters(&gpu);
    dynamic_memory(&gpu);
    attributes(&gpu);
    set_attributes(&gpu);
    close_gpu(&gpu);
    return done();
}
