// SPDX-License-Identifier: BSD-3-Clause
// Runs a small kernel on each GPU that a program would see here.
#include "admin-cli/try_kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-cli/output/command.h"
#include "proto/cuda_abi.h"

enum { THREADS = 256, PATTERN = 0x5a5a };

// Each thread stores its number, with some bits changed.
static const char kernel_text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry number(.param .u64 to)\n{\n"
    "    .reg .b32 %r<3>;\n    .reg .b64 %d<4>;\n"
    "    ld.param.u64 %d1, [to];\n    cvta.to.global.u64 %d1, %d1;\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %d2, %r1, 4;\n    add.s64 %d3, %d1, %d2;\n"
    "    xor.b32 %r2, %r1, 0x5a5a;\n    st.global.u32 [%d3], %r2;\n    ret;\n}\n";

struct kernel_calls {
    CUresult (*init)(unsigned);
    CUresult (*count)(int *);
    CUresult (*name)(char *, int, CUdevice);
    CUresult (*explain)(CUresult, const char **);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*set_current)(CUcontext);
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUresult (*load)(CUmodule *, const void *);
    CUresult (*find)(CUfunction *, CUmodule, const char *);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void **, void **);
    CUresult (*from)(void *, CUdeviceptr, size_t);
};

static int load_calls(const char *path, struct kernel_calls *out)
{
    void *handle = dlopen(path, RTLD_NOW);
    const struct {
        void *to;
        const char *name;
    } symbols[] = {
        {&out->init, "cuInit"},
        {&out->count, "cuDeviceGetCount"},
        {&out->name, "cuDeviceGetName"},
        {&out->explain, "cuGetErrorName"},
        {&out->retain, "cuDevicePrimaryCtxRetain"},
        {&out->set_current, "cuCtxSetCurrent"},
        {&out->alloc, "cuMemAlloc_v2"},
        {&out->load, "cuModuleLoadData"},
        {&out->find, "cuModuleGetFunction"},
        {&out->launch, "cuLaunchKernel"},
        {&out->from, "cuMemcpyDtoH_v2"},
    };

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = handle ? dlsym(handle, symbols[i].name) : NULL;
        if (!symbol)
            return -1;
        memcpy(symbols[i].to, &symbol, sizeof(symbol));
    }
    return 0;
}

static CUresult run_kernel(const struct kernel_calls *calls, CUdevice device,
                           unsigned numbers[THREADS])
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory = 0;
    void *arguments[] = {&memory};
    CUresult result = calls->retain(&context, device);

    if (!result)
        result = calls->set_current(context);
    if (!result)
        result = calls->alloc(&memory, THREADS * sizeof(*numbers));
    if (!result)
        result = calls->load(&module, kernel_text);
    if (!result)
        result = calls->find(&function, module, "number");
    if (!result)
        result = calls->launch(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL);
    return result ? result : calls->from(numbers, memory, THREADS * sizeof(*numbers));
}

static bool try_kernel(const struct kernel_calls *calls, int device)
{
    unsigned numbers[THREADS] = {0};
    char name[128] = "";
    const char *error = "an unknown error";
    int wrong = 0;

    calls->name(name, sizeof(name), device);
    CUresult result = run_kernel(calls, device, numbers);
    for (unsigned i = 0; !result && i < THREADS; i++)
        wrong += numbers[i] != (i ^ PATTERN);
    if (result) {
        calls->explain(result, &error);
        printf("gpu   %d %s: a kernel failed: %s\n", device, name, error);
    } else if (wrong) {
        printf("gpu   %d %s: %d of %d numbers of a kernel are wrong\n", device, name, wrong,
               THREADS);
    } else {
        printf("gpu   %d %s: a kernel computed right\n", device, name);
    }
    return !result && !wrong;
}

int try_kernels(const char *path)
{
    struct kernel_calls calls;
    int count = 0, right = 0;

    if (load_calls(path, &calls) || calls.init(0) || calls.count(&count))
        return EXIT_ANSWER_NO;
    for (int i = 0; i < count; i++)
        right += try_kernel(&calls, i);
    fflush(stdout);
    return count && right == count ? 0 : EXIT_ANSWER_NO;
}
