// SPDX-License-Identifier: BSD-3-Clause
// Functions for the C programs of this folder: the Driver API as a program sees it, opening a
// device, the kernels of kernels.ptx, and random numbers. The programs are written as for NVIDIA's
// own cuda.h; with -DWITH_CUDA_H they compile against it.
#ifndef RGPU_TESTS_DRIVER_H
#define RGPU_TESTS_DRIVER_H

#ifdef WITH_CUDA_H
#include <cuda.h>
#else
#include "proto/cuda_abi.h"
#endif
#include "tests/programs/driver_calls.h"

#include "tests/tap.h"

static inline const char *result_name(CUresult result)
{
    const char *name = NULL;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        return "an unknown result";
    return name;
}

// A call without which the program cannot go on.
#define CHECK(call) check_call((call), #call, __FILE__, __LINE__)
static inline void check_call(CUresult result, const char *text, const char *file, int line)
{
    if (result != CUDA_SUCCESS)
        tap_bail(file, line, "%s gave %s (%d)", text, result_name(result), result);
}

// A call without which a thread cannot go on: it ends, and `job`, its own, says with what.
#define JOB_TRY(call) \
    do { \
        CUresult r_ = (call); \
        if (r_) { \
            job->failure = r_; \
            return NULL; \
        } \
    } while (0)

// A call whose result is tested.
#define gives(call, want, ...) gives_result((call), (want), __FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 5, 6))) static inline bool
gives_result(CUresult got, CUresult want, const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_report(file, line, got == want, format, args);
    va_end(args);
    if (got != want)
        diag("    got: %s (%d)   want: %s (%d)", result_name(got), got, result_name(want), want);
    return got == want;
}

// The text of kernels.ptx, ended by a zero byte.
__asm__(".pushsection .rodata\n"
        "kernels_ptx: .incbin \"tests/programs/kernels.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char kernels_ptx[] __attribute__((visibility("hidden")));

struct gpu {
    CUdevice device;
    CUcontext context; // the primary one, current
    CUmodule module;   // kernels.ptx
};

// Skips the whole program where there are not two devices.
static inline void need_two_devices(void)
{
    int count = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    if (count < 2)
        skip_all("one device only");
}

static inline struct gpu open_gpu(int ordinal)
{
    struct gpu gpu;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&gpu.device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    CHECK(cuCtxSetCurrent(gpu.context));
    CHECK(cuModuleLoadData(&gpu.module, kernels_ptx));
    return gpu;
}

static inline void close_gpu(struct gpu *gpu)
{
    CHECK(cuModuleUnload(gpu->module));
    CHECK(cuDevicePrimaryCtxRelease(gpu->device));
}

static inline CUfunction kernel(const struct gpu *gpu, const char *name)
{
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, gpu->module, name));
    return function;
}

// Launches with one-dimensional grid and block; the arguments are pointers to the parameters.
#define launch(function, grid, block, stream, ...) \
    CHECK(cuLaunchKernel((function), (grid), 1, 1, (block), 1, 1, 0, (stream), \
                         (void *[]){__VA_ARGS__}, NULL))

static inline CUdeviceptr device_alloc(size_t size)
{
    CUdeviceptr address;
    CHECK(cuMemAlloc(&address, size));
    return address;
}

// A module with nothing but `variable`, of SIZE bytes.
static inline CUmodule variable_module(size_t size, CUdeviceptr *variable)
{
    char text[256];
    CUmodule module;
    snprintf(text, sizeof(text),
             ".version 7.0\n.target sm_50\n.address_size 64\n"
             ".visible .global .align 16 .b8 variable[%zu];\n",
             size);
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetGlobal(variable, NULL, module, "variable"));
    return module;
}

// Work that keeps a stream busy until it is released, however slow the machine is.
struct hold {
    CUdeviceptr flag; // 4 bytes, given back with the context: the kernel may still look
    CUstream release;
};

static inline struct hold hold_stream(const struct gpu *gpu, CUstream stream)
{
    struct hold hold = {.flag = device_alloc(4)};
    CHECK(cuStreamCreate(&hold.release, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32Async(hold.flag, 0, 1, hold.release));
    CHECK(cuStreamSynchronize(hold.release));
    launch(kernel(gpu, "wait_flag"), 1, 1, stream, &hold.flag);
    return hold;
}

static inline void hold_release(struct hold *hold)
{
    CHECK(cuMemsetD32Async(hold->flag, 1, 1, hold->release));
    CHECK(cuStreamSynchronize(hold->release));
    CHECK(cuStreamDestroy(hold->release));
}

static inline int device_attribute(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;
    CHECK(cuDeviceGetAttribute(&value, attribute, device));
    return value;
}

// xorshift64*: the same numbers in every run for the same seed.
static inline uint32_t random_u32(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * 0x2545F4914F6CDD1DULL) >> 32);
}

static inline float random_float(uint64_t *state)
{
    return (float)(random_u32(state) >> 8) / (1 << 23) - 1.0f;
}

static inline void fill_random(void *memory, size_t size, uint64_t seed)
{
    unsigned char *bytes = (unsigned char *)memory;
    size_t i;
    seed = seed * 2 + 1;
    for (i = 0; i + 4 <= size; i += 4) {
        uint32_t value = random_u32(&seed);
        memcpy(bytes + i, &value, 4);
    }
    for (; i < size; i++)
        bytes[i] = (unsigned char)random_u32(&seed);
}

static inline void *must_alloc(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory)
        bail("no memory for %zu bytes", size);
    return memory;
}

// Memory of the current device, with what fill_random() makes of the seed, which may be on its way
// to it still.
static inline CUdeviceptr device_random(size_t size, uint64_t seed)
{
    void *host = must_alloc(size);
    CUdeviceptr data = device_alloc(size);
    fill_random(host, size, seed);
    CHECK(cuMemcpyHtoD(data, host, size));
    free(host);
    return data;
}

static inline bool has_random(CUdeviceptr data, size_t size, uint64_t seed)
{
    unsigned char *got = must_alloc(size), *want = must_alloc(size);
    CHECK(cuMemcpyDtoH(got, data, size));
    fill_random(want, size, seed);
    bool same = !memcmp(got, want, size);
    free(got);
    free(want);
    return same;
}

static inline uint32_t word_at(CUdeviceptr address)
{
    uint32_t word;
    CHECK(cuMemcpyDtoH(&word, address, 4));
    return word;
}

#endif
