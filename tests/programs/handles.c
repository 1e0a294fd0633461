// SPDX-License-Identifier: BSD-3-Clause
// Handles that are garbage, stale, or another context's: an error, and never a crash. NVIDIA's
// own library may crash on some of these, so this program runs on a box only.
#include "tests/programs/driver.h"

static const uintptr_t garbage[] = {
    3,
    8,
    0x10,
    0xFFF,
    0xDEADBEEF,
    0x7FFFFFFFFFFF,
    (uintptr_t)-1,
    (uintptr_t)-2,
    (uintptr_t)-4096,
    (uintptr_t)1 << 63,
    0x123456789ABCDEF,
};
#define EACH(i) (unsigned i = 0; i < sizeof garbage / sizeof *garbage; i++)

static bool refused(CUresult result)
{
    return result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_VALUE ||
           result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static unsigned accepted;
static void must_refuse(CUresult result, const char *what, uintptr_t value)
{
    if (refused(result))
        return;
    accepted++;
    diag("%s(%#lx) gave %s", what, (unsigned long)value, result_name(result));
}

static void nonsense(const struct gpu *gpu)
{
    uint32_t word = 0;
    CUdeviceptr memory = device_alloc(4096);
    unsigned value;
    CUdevice device;
    CUcontext context;
    void *argument = &word;
    for
        EACH(i)
        {
            uintptr_t g = garbage[i];
            must_refuse(cuStreamSynchronize((CUstream)g), "cuStreamSynchronize", g);
            must_refuse(cuStreamQuery((CUstream)g), "cuStreamQuery", g);
            must_refuse(cuStreamDestroy((CUstream)g), "cuStreamDestroy", g);
            must_refuse(cuStreamGetFlags((CUstream)g, &value), "cuStreamGetFlags", g);
            must_refuse(cuStreamGetCtx((CUstream)g, &context), "cuStreamGetCtx", g);
            must_refuse(cuMemcpyHtoDAsync(memory, &word, 4, (CUstream)g), "cuMemcpyHtoDAsync", g);
            must_refuse(cuMemcpyDtoHAsync(&word, memory, 4, (CUstream)g), "cuMemcpyDtoHAsync", g);
            must_refuse(cuMemsetD32Async(memory, 0, 1, (CUstream)g), "cuMemsetD32Async", g);
            must_refuse(cuEventSynchronize((CUevent)g), "cuEventSynchronize", g);
            must_refuse(cuEventQuery((CUevent)g), "cuEventQuery", g);
            must_refuse(cuEventRecord((CUevent)g, NULL), "cuEventRecord", g);
            must_refuse(cuEventDestroy((CUevent)g), "cuEventDestroy", g);
            must_refuse(cuStreamWaitEvent(NULL, (CUevent)g, 0), "cuStreamWaitEvent", g);
            must_refuse(cuModuleUnload((CUmodule)g), "cuModuleUnload", g);
            CUfunction function;
            must_refuse(cuModuleGetFunction(&function, (CUmodule)g, "add"), "cuModuleGetFunction",
                        g);
            must_refuse(cuLaunchKernel((CUfunction)g, 1, 1, 1, 1, 1, 1, 0, NULL, &argument, NULL),
                        "cuLaunchKernel", g);
            must_refuse(cuFuncGetAttribute((int *)&value, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                           (CUfunction)g),
                        "cuFuncGetAttribute", g);
            must_refuse(cuCtxSetCurrent((CUcontext)g), "cuCtxSetCurrent", g);
            must_refuse(cuCtxPushCurrent((CUcontext)g), "cuCtxPushCurrent", g);
            must_refuse(cuCtxDestroy((CUcontext)g), "cuCtxDestroy", g);
            must_refuse(cuMemFree((CUdeviceptr)g), "cuMemFree", g);
            must_refuse(cuLibraryUnload((CUlibrary)g), "cuLibraryUnload", g);
            must_refuse(cuLinkDestroy((CUlinkState)g), "cuLinkDestroy", g);
            must_refuse(cuMemPoolDestroy((CUmemoryPool)g), "cuMemPoolDestroy", g);
            CHECK(cuCtxGetDevice(&device));
        }
    is_int(accepted, 0, "every garbage handle is refused");
    launch(kernel(gpu, "empty"), 1, 1, NULL, NULL);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "and the session goes on");
    CHECK(cuMemFree(memory));
}

static void stale(const struct gpu *gpu)
{
    CUstream stream, stream2;
    CUevent event, event2;
    CUmodule module;
    CUfunction function;
    accepted = 0;
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuModuleLoadData(&module, kernels_ptx));
    CHECK(cuModuleGetFunction(&function, module, "empty"));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuEventDestroy(event));
    CHECK(cuModuleUnload(module));
    // New things may take the places of the old ones; the old handles must not mean them.
    CHECK(cuStreamCreate(&stream2, 0));
    CHECK(cuEventCreate(&event2, 0));
    must_refuse(cuStreamQuery(stream), "cuStreamQuery", (uintptr_t)stream);
    must_refuse(cuStreamDestroy(stream), "cuStreamDestroy", (uintptr_t)stream);
    must_refuse(cuEventQuery(event), "cuEventQuery", (uintptr_t)event);
    must_refuse(cuEventDestroy(event), "cuEventDestroy", (uintptr_t)event);
    must_refuse(cuEventRecord(event, stream2), "cuEventRecord", (uintptr_t)event);
    must_refuse(cuModuleUnload(module), "cuModuleUnload", (uintptr_t)module);
    must_refuse(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel",
                (uintptr_t)function);
    is_int(accepted, 0, "every stale handle is refused");
    CHECK(cuStreamDestroy(stream2));
    CHECK(cuEventDestroy(event2));

    CUcontext context;
    accepted = 0;
    CHECK(cuCtxCreate_v2(&context, 0, gpu->device));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuCtxDestroy(context));
    CHECK(cuCtxSetCurrent(gpu->context));
    must_refuse(cuStreamSynchronize(stream), "cuStreamSynchronize", (uintptr_t)stream);
    must_refuse(cuEventRecord(event, NULL), "cuEventRecord", (uintptr_t)event);
    must_refuse(cuCtxSetCurrent(context), "cuCtxSetCurrent", (uintptr_t)context);
    is_int(accepted, 0, "so is every handle of a context that is gone");
}

static void foreign(const struct gpu *gpu)
{
    CUcontext context;
    CUstream stream;
    CUevent event;
    CHECK(cuCtxCreate_v2(&context, 0, gpu->device));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuCtxSetCurrent(gpu->context));
    CHECK(cuStreamCreate(&stream, 0));
    ok(cuEventRecord(event, stream) != CUDA_SUCCESS,
       "an event is not recorded in a stream of another context");
    CHECK(cuStreamDestroy(stream));
    CHECK(cuCtxDestroy(context));
    gives(cuCtxSetCurrent(NULL), CUDA_SUCCESS, "no context can be made current");
    gives(cuCtxSetCurrent(gpu->context), CUDA_SUCCESS, "and one again");
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "the session goes on");
}

static void null_pointers(const struct gpu *gpu)
{
    unsigned wrong = 0;
#define REFUSES(call) wrong += !refused(call) ? diag("%s was not refused", #call), 1u : 0u
    REFUSES(cuDeviceGetCount(NULL));
    REFUSES(cuDeviceGet(NULL, 0));
    REFUSES(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, gpu->device));
    REFUSES(cuDeviceTotalMem(NULL, gpu->device));
    REFUSES(cuMemAlloc(NULL, 16));
    REFUSES(cuMemAllocHost(NULL, 16));
    REFUSES(cuStreamCreate(NULL, 0));
    REFUSES(cuEventCreate(NULL, 0));
    REFUSES(cuModuleGetFunction(NULL, gpu->module, "add"));
    REFUSES(cuDriverGetVersion(NULL));
    REFUSES(cuMemcpy2D(NULL));
    REFUSES(cuMemHostRegister(NULL, 4096, 0));
    is_int(wrong, 0, "null pointers for results are refused");
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    nonsense(&gpu);
    stale(&gpu);
    foreign(&gpu);
    null_pointers(&gpu);
    close_gpu(&gpu);
    return done();
}
