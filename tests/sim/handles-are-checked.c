// SPDX-License-Identifier: BSD-3-Clause
// Handles that are nothing, invented, stale or of another kind give errors and never crash.
#include "tests/sim/sim_test.h"

// To the driver a stream that is gone is one whose context is gone.
static void check_streams(CUstream bad, const char *what)
{
    CUresult want = strcmp(what, "stale") ? CUDA_ERROR_INVALID_HANDLE
                                          : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    uint32_t flags;
    gives(cuStreamSynchronize(bad), want, "%s stream: synchronize", what);
    gives(cuStreamQuery(bad), want, "%s stream: query", what);
    gives(cuStreamGetFlags(bad, &flags), want, "%s stream: flags", what);
    gives(cuStreamDestroy(bad), CUDA_ERROR_INVALID_HANDLE, "%s stream: destroy", what);
    gives(cuLaunchHostFunc(bad, sim_note, NULL), want, "%s stream: host function", what);
}

static void check_events(CUevent bad, const char *what)
{
    float time;
    gives(cuEventRecord(bad, NULL), CUDA_ERROR_INVALID_HANDLE, "%s event: record", what);
    gives(cuEventQuery(bad), CUDA_ERROR_INVALID_HANDLE, "%s event: query", what);
    gives(cuEventSynchronize(bad), CUDA_ERROR_INVALID_HANDLE, "%s event: synchronize", what);
    gives(cuEventElapsedTime(&time, bad, bad), CUDA_ERROR_INVALID_HANDLE, "%s event: time", what);
    gives(cuEventDestroy(bad), CUDA_ERROR_INVALID_HANDLE, "%s event: destroy", what);
}

static void check_code(void *bad, const char *what)
{
    CUfunction function;
    CUmodule module;
    CUkernel kernel;
    CUdeviceptr address;
    size_t size;
    int value;
    gives(cuModuleGetFunction(&function, bad, "f"), CUDA_ERROR_INVALID_HANDLE,
          "%s module: function", what);
    gives(cuModuleGetGlobal(&address, &size, bad, "f"), CUDA_ERROR_INVALID_HANDLE,
          "%s module: variable", what);
    gives(cuModuleUnload(bad), CUDA_ERROR_INVALID_HANDLE, "%s module: unload", what);
    gives(cuLibraryGetKernel(&kernel, bad, "f"), CUDA_ERROR_INVALID_HANDLE, "%s library: kernel",
          what);
    gives(cuLibraryGetModule(&module, bad), CUDA_ERROR_INVALID_HANDLE, "%s library: module", what);
    gives(cuLibraryUnload(bad), CUDA_ERROR_INVALID_HANDLE, "%s library: unload", what);
    gives(cuKernelGetFunction(&function, bad), CUDA_ERROR_INVALID_HANDLE, "%s kernel: function",
          what);
    gives(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, bad), CUDA_ERROR_INVALID_HANDLE,
          "%s function: attribute", what);
    gives(cuLaunchKernel(bad, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE,
          "%s function: launch", what);
    gives(cuLinkDestroy(bad), CUDA_ERROR_INVALID_HANDLE, "%s link state: destroy", what);
}

static void check_contexts(CUcontext bad, const char *what)
{
    unsigned version;
    gives(cuCtxSetCurrent(bad), CUDA_ERROR_CONTEXT_IS_DESTROYED, "%s context: set current", what);
    gives(cuCtxPushCurrent(bad), CUDA_ERROR_CONTEXT_IS_DESTROYED, "%s context: push", what);
    gives(cuCtxDestroy(bad), CUDA_ERROR_CONTEXT_IS_DESTROYED, "%s context: destroy", what);
    gives(cuCtxGetApiVersion(bad, &version), CUDA_ERROR_CONTEXT_IS_DESTROYED, "%s context: version",
          what);
}

int main(void)
{
    static char memory[64];
    int count;
    CUcontext context;
    CUstream stale;
    CUevent stale_event;
    sim_isolate("1", "1G");
    gives(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED, "nothing works before cuInit");
    gives(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED, "not even the current context");
    gives(cuInit(1), CUDA_ERROR_INVALID_VALUE, "cuInit takes no flags");
    CHECK(cuInit(0));
    gives(cuStreamCreate(&stale, 0), CUDA_ERROR_INVALID_CONTEXT, "a stream needs a context");
    CHECK(cuCtxGetCurrent(&context));
    ok(!context, "there is no context at first");

    context = sim_context(0);
    CHECK(cuStreamCreate(&stale, 0));
    CHECK(cuStreamDestroy(stale));
    CHECK(cuEventCreate(&stale_event, 0));
    CHECK(cuEventDestroy(stale_event));
    check_streams((CUstream)memory, "invented");
    check_streams((CUstream)-1, "(CUstream)-1");
    check_streams(stale, "stale");
    check_streams((CUstream)context, "a context as");
    check_events(NULL, "NULL");
    check_events((CUevent)memory, "invented");
    check_events(stale_event, "stale");
    check_events((CUevent)(uintptr_t)0x1, "odd");
    check_code(NULL, "NULL");
    check_code(memory, "invented");
    check_code((void *)-1, "-1 as");
    check_code(context, "a context as");
    check_contexts((CUcontext)-1, "(CUcontext)-1");
    check_contexts((CUcontext)memory, "invented");
    gives(cuMemFree((CUdeviceptr)(uintptr_t)memory), CUDA_ERROR_INVALID_VALUE,
          "host memory is not freed");
    gives(cuMemFree(0), CUDA_SUCCESS, "freeing nothing is nothing");
    gives(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE, "nor host memory that was not given");
    gives(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
          "memory that is not registered is not unregistered");
    gives(cuMemPoolDestroy((CUmemoryPool)memory), CUDA_ERROR_INVALID_VALUE, "invented pool");
    gives(cuGraphicsUnregisterResource(NULL), CUDA_ERROR_NOT_SUPPORTED,
          "what is not simulated says so");
    return done();
}
