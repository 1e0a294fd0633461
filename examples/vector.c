// SPDX-License-Identifier: BSD-3-Clause
// Does the same as vector.cu with the Driver API. The kernel is PTX text, so the build needs no
// CUDA toolkit.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/programs/driver.h"

#undef CHECK
#define CHECK(call) \
    do { \
        CUresult result_ = (call); \
        if (result_ != CUDA_SUCCESS) { \
            const char *text_ = "an unknown error"; \
            cuGetErrorString(result_, &text_); \
            fprintf(stderr, "%s: %s\n", #call, text_); \
            exit(1); \
        } \
    } while (0)

static const char kernel_text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .f32 %f<5>;\n    .reg .b32 %r<6>;\n    .reg .b64 %rd<8>;\n"
    "    ld.param.u64 %rd1, [y];\n"
    "    ld.param.u64 %rd2, [x];\n"
    "    ld.param.f32 %f1, [a];\n"
    "    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n"
    "    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p1, %r5, %r1;\n"
    "    @%p1 bra DONE;\n"
    "    mul.wide.u32 %rd3, %r5, 4;\n"
    "    cvta.to.global.u64 %rd4, %rd1;\n"
    "    cvta.to.global.u64 %rd5, %rd2;\n"
    "    add.s64 %rd6, %rd4, %rd3;\n"
    "    add.s64 %rd7, %rd5, %rd3;\n"
    "    ld.global.f32 %f2, [%rd7];\n"
    "    ld.global.f32 %f3, [%rd6];\n"
    "    fma.rn.f32 %f4, %f1, %f2, %f3;\n"
    "    st.global.f32 [%rd6], %f4;\n"
    "DONE:\n"
    "    ret;\n"
    "}\n";

static const int n = 4 << 20;
static const size_t size = (size_t)(4 << 20) * sizeof(float);
static float *x, *y, *result;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Measures the best rate of three copies in GB/s, because the first copy touches new memory.
static void to_device(CUdeviceptr to, const void *from, double *rate)
{
    *rate = 0;
    for (int i = 0; i < 3; i++) {
        double start = now();
        CHECK(cuMemcpyHtoD(to, from, size));
        double this_rate = 1e-9 * (double)size / (now() - start);
        *rate = this_rate > *rate ? this_rate : *rate;
    }
}

static void from_device(void *to, CUdeviceptr from, double *rate)
{
    *rate = 0;
    for (int i = 0; i < 3; i++) {
        double start = now();
        CHECK(cuMemcpyDtoH(to, from, size));
        double this_rate = 1e-9 * (double)size / (now() - start);
        *rate = this_rate > *rate ? this_rate : *rate;
    }
}

// Returns the number of wrong results.
static int run(int number)
{
    char name[128];
    float a = 2.0f, *pinned;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction saxpy;
    CUdeviceptr dx, dy;
    double rates[4];
    int wrong = 0;

    CHECK(cuDeviceGet(&device, number));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, kernel_text));
    CHECK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    CHECK(cuMemAlloc(&dx, size));
    CHECK(cuMemAlloc(&dy, size));
    CHECK(cuMemAllocHost((void **)&pinned, size));

    to_device(dx, x, rates);
    to_device(dy, y, rates);
    void *parameters[] = {&dy, &dx, &a, (void *)&n};
    CHECK(cuLaunchKernel(saxpy, (unsigned)n / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuCtxSynchronize());
    from_device(result, dy, rates + 1);
    memset(pinned, 1, size);
    to_device(dx, pinned, rates + 2);
    from_device(pinned, dx, rates + 3);

    for (int i = 0; i < n; i++)
        wrong += result[i] != 2.0f * x[i] + y[i];
    printf("device %d: %s: %d numbers, %d wrong\n", number, name, n, wrong);
    printf("device %d: GB/s to and from the GPU: %.2f %.2f pageable, %.2f %.2f pinned\n", number,
           rates[0], rates[1], rates[2], rates[3]);
    CHECK(cuMemFree(dx));
    CHECK(cuMemFree(dy));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return wrong;
}

// Implements --probe: reports whether there is a GPU, and its name.
static int probe(void)
{
    char name[128];
    CUdevice device;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDeviceGetName(name, sizeof name, device))
        return 1;
    printf("%s\n", name);
    return 0;
}

int main(int argc, char **argv)
{
    int devices = 0, wrong = 0;
    if (argc > 1 && !strcmp(argv[1], "--probe"))
        return probe();
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&devices));
    x = malloc(size);
    y = malloc(size);
    result = malloc(size);
    if (!x || !y || !result)
        return 1;
    for (int i = 0; i < n; i++) {
        x[i] = (float)(i % 1000) / 8;
        y[i] = (float)(i % 77);
    }
    for (int d = 0; d < devices; d++)
        wrong += run(d);
    return wrong || !devices ? 1 : 0;
}
