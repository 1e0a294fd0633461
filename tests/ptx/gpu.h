// SPDX-License-Identifier: BSD-3-Clause
// The same kernels on a real GPU: with PTX_ON_GPU=1 the system's driver runs the tables of
// instruction cases instead of the engine. So the expected results can be compared with the
// hardware's.
#ifndef RGPU_TESTS_PTX_GPU_H
#define RGPU_TESTS_PTX_GPU_H

#include <dlfcn.h>

#include "tests/tap.h"

static inline bool on_gpu(void)
{
    const char *wanted = getenv("PTX_ON_GPU");

    return wanted && *wanted == '1';
}

static inline void *gpu_symbol(const char *name)
{
    static void *driver;
    void *symbol;

    if (!driver)
        driver = dlopen("libcuda.so.1", RTLD_NOW);
    symbol = driver ? dlsym(driver, name) : NULL;
    if (!symbol)
        bail("no driver with %s", name);
    return symbol;
}

#define GPU(name, types, args) \
    do { \
        int result_ = ((int(*) types)gpu_symbol(#name))args; \
        if (result_) \
            bail("%s: %d", #name, result_); \
    } while (0)

static inline void gpu_context(void)
{
    static bool done;
    void *context;
    int device;

    if (done)
        return;
    GPU(cuInit, (unsigned), (0));
    GPU(cuDeviceGet, (int *, int), (&device, 0));
    GPU(cuDevicePrimaryCtxRetain, (void **, int), (&context, device));
    GPU(cuCtxSetCurrent, (void *), (context));
    done = true;
}

// Runs entry `k`, whose parameters are the addresses of `out` and `in`.
static inline void gpu_run(const char *text, unsigned grid, unsigned block, void *out,
                           size_t out_size, const void *in, size_t in_size)
{
    uint64_t device_out, device_in;
    void *module, *function, *params[] = {&device_out, &device_in};
    typedef unsigned u;

    gpu_context();
    GPU(cuModuleLoadData, (void **, const void *), (&module, text));
    GPU(cuModuleGetFunction, (void **, void *, const char *), (&function, module, "k"));
    GPU(cuMemAlloc_v2, (uint64_t *, size_t), (&device_out, out_size));
    GPU(cuMemAlloc_v2, (uint64_t *, size_t), (&device_in, in_size));
    GPU(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), (device_in, in, in_size));
    GPU(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), (device_out, out, out_size));
    GPU(cuLaunchKernel, (void *, u, u, u, u, u, u, u, void *, void **, void **),
        (function, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL));
    GPU(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), (out, device_out, out_size));
    GPU(cuMemFree_v2, (uint64_t), (device_out));
    GPU(cuMemFree_v2, (uint64_t), (device_in));
    GPU(cuModuleUnload, (void *), (module));
}

#endif
