// SPDX-License-Identifier: BSD-3-Clause
// Execution control: functions, launches, and functions of the program that a stream calls.
#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/work/known_answers.h"
#include "client-lib/cuda/work/launching.h"
#include "client-lib/cuda/work/parameters.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"

// ---- launches ----

static CUresult cu_execution_launch(CUfunction f, const CUlaunchConfig *config, void **parameters,
                                    void **extra, uint32_t flags, bool per_thread)
{
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    const struct launch request = {.config = config,
                                   .stream = per_thread ? stream_per_thread(config->hStream)
                                                        : config->hStream,
                                   .function = f,
                                   .parameters = parameters,
                                   .extra = extra,
                                   .flags = flags};
    return kernel_launch(&request);
}

#define CONFIG \
    (&(CUlaunchConfig){.gridDimX = gridDimX, \
                       .gridDimY = gridDimY, \
                       .gridDimZ = gridDimZ, \
                       .blockDimX = blockDimX, \
                       .blockDimY = blockDimY, \
                       .blockDimZ = blockDimZ, \
                       .sharedMemBytes = sharedMemBytes, \
                       .hStream = hStream})

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                        unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                        void **kernelParams, void **extra)
{
    return cu_execution_launch(f, CONFIG, kernelParams, extra, 0, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void **kernelParams)
{
    return cu_execution_launch(f, CONFIG, kernelParams, NULL, WIRE_LAUNCH_COOPERATIVE, false);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                          void **extra)
{
    return cu_execution_launch(f, config, kernelParams, extra, 0, false);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                               void **extra)
{
    return cu_execution_launch(f, config, kernelParams, extra, 0, true);
}

// ---- functions and kernels ----

CUresult code_find(enum handle_kind kind, const void *handle, struct object **function)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    *function = object_find(kind, handle);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult code_parameter(struct object *function, size_t index, size_t *offset, size_t *size)
{
    CUresult result;
    const struct parameter_layout *layout = function_layout(function, &result);
    if (!layout)
        return result;
    if (index >= layout->count || !offset)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = layout->parameters[index].offset;
    if (size)
        *size = layout->parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct object *object = pi ? object_find(HANDLE_FUNCTION, hfunc) : NULL;
    CUresult result;
    return object && known_attribute(object, 0, attrib, pi, &result)
               ? result
               : remote_cuFuncGetAttribute(pi, attrib, hfunc);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct object *object = object_find(HANDLE_FUNCTION, hfunc);
    struct known_question setting = {KNOWN_SETTING, .first = attrib};
    uint64_t asked;
    if (known_is_set(object, &setting, value, &asked))
        return CUDA_SUCCESS;
    CUresult result = remote_cuFuncSetAttribute(hfunc, attrib, value);
    known_set(object, &setting, result == CUDA_SUCCESS ? &value : NULL, asked);
    return result;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    CUresult result = remote_cuFuncSetCacheConfig(hfunc, config);
    known_set(object_find(HANDLE_FUNCTION, hfunc), NULL, NULL, 0);
    return result;
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct object *function;
    CUresult result = code_find(HANDLE_FUNCTION, hfunc, &function);
    if (result == CUDA_SUCCESS && !hmod)
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    // A kernel's function belongs to a library, whose module in this context is queried.
    uint64_t owner = function->function.owner;
    if (object_find(HANDLE_MODULE, (void *)(uintptr_t)owner)) {
        *hmod = (CUmodule)(uintptr_t)owner;
        return CUDA_SUCCESS;
    }
    struct object *kernel = object_find(HANDLE_KERNEL, (void *)(uintptr_t)owner);
    if (!kernel)
        kernel = function->kind == HANDLE_KERNEL ? function : NULL;
    return kernel ? remote_cuLibraryGetModule(hmod, (CUlibrary)(uintptr_t)kernel->function.owner)
                  : CUDA_ERROR_INVALID_HANDLE;
}
