// SPDX-License-Identifier: BSD-3-Clause
// Green contexts: some of a GPU's multiprocessors, with streams of their own, in the primary
// context's memory.
#include "tests/programs/driver.h"

CUresult cuDeviceGetDevResource(CUdevice, CUdevResource *, CUdevResourceType);
CUresult cuCtxGetDevResource(CUcontext, CUdevResource *, CUdevResourceType);
CUresult cuGreenCtxGetDevResource(CUgreenCtx, CUdevResource *, CUdevResourceType);
CUresult cuDevSmResourceSplitByCount(CUdevResource *, unsigned *, const CUdevResource *,
                                     CUdevResource *, unsigned, unsigned);
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *, CUdevResource *, unsigned);
CUresult cuGreenCtxCreate(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned);
CUresult cuGreenCtxDestroy(CUgreenCtx);
CUresult cuCtxFromGreenCtx(CUcontext *, CUgreenCtx);

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry count(.param .u64 to) {\n"
    " .reg .u64 %d<3>; ld.param.u64 %d1,[to]; cvta.to.global.u64 %d2,%d1; red.global.add.u32 [%d2],1; ret; }\n";

static unsigned multiprocessors(CUdevResource *all, CUdevice device)
{
    CHECK(cuDeviceGetDevResource(device, all, CU_DEV_RESOURCE_TYPE_SM));
    is_int(all->sm.smCount, device_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
           "a device's resource are all multiprocessors");
    return all->sm.smCount;
}

static CUdevResource split(const CUdevResource *all, unsigned total)
{
    CUdevResource part, rest;
    unsigned groups = 0;
    CHECK(cuDevSmResourceSplitByCount(NULL, &groups, all, NULL, 0, 8));
    ok(groups >= 1 && groups <= total / 8, "it is said how many groups there can be");
    groups = 1;
    CHECK(cuDevSmResourceSplitByCount(&part, &groups, all, &rest, 0, 8));
    ok(groups == 1 && part.sm.smCount >= 8 && rest.sm.smCount <= total - part.sm.smCount,
       "a group and the rest are what there was, or less");
    gives(cuDevSmResourceSplitByCount(&part, &groups, all, &rest, 0, total + 1),
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "more than there are cannot be had");
    return part;
}

static void work_in(CUcontext context, CUfunction count, CUdeviceptr sum, CUstream other)
{
    void *arguments[] = {&sum};
    CUstream stream;
    CUdeviceptr memory;
    CUcontext owner = NULL;
    CUevent event;
    CHECK(cuCtxPushCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuLaunchKernel(count, 4, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
    CHECK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
    is_int(word_at(sum), 129, "kernels of the primary context run in streams of the green one");
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuMemsetD32Async(memory, 7, 1024, stream));
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(other, event, 0));
    CHECK(cuEventRecord(event, other));
    CHECK(cuEventSynchronize(event));
    is_int(word_at(memory), 7, "events order streams of both");
    CHECK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    CHECK(cuEventDestroy(event));
    CHECK(cuMemFree(memory));
    CHECK(cuCtxPopCurrent(NULL));
    CUcontext primary;
    CHECK(cuCtxGetCurrent(&primary));
    ok(owner == primary, "memory is the primary context's");
}

static void lives_and_ends(const struct gpu *gpu, CUdevResource *part)
{
    CUdevResourceDesc description;
    CUdevResource own;
    CUgreenCtx green;
    CUcontext context;
    CUdeviceptr sum = device_alloc(4), kept;
    CUmodule module;
    CUfunction count;
    CUstream other;
    CHECK(cuMemsetD32(sum, 0, 1));
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&count, module, "count"));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuDevResourceGenerateDesc(&description, part, 1));
    gives(cuGreenCtxCreate(&green, description, gpu->device, 0), CUDA_ERROR_INVALID_VALUE,
          "a green context has a default stream");
    CHECK(cuGreenCtxCreate(&green, description, gpu->device, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK(cuCtxFromGreenCtx(&context, green));
    CHECK(cuGreenCtxGetDevResource(green, &own, CU_DEV_RESOURCE_TYPE_SM));
    is_int(own.sm.smCount, part->sm.smCount, "it has the multiprocessors that it was given");
    work_in(context, count, sum, other);
    gives(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT, "it is not destroyed as a context");
    CHECK(cuCtxPushCurrent(context));
    CHECK(cuMemAlloc(&kept, 4096));
    CHECK(cuCtxPopCurrent(NULL));
    CHECK(cuGreenCtxDestroy(green));
    CHECK(cuMemsetD32(kept, 3, 1024));
    is_int(word_at(kept), 3, "what was allocated in it stays when it is gone");
    CHECK(cuMemFree(kept));
    gives(cuGreenCtxDestroy(green), CUDA_ERROR_CONTEXT_IS_DESTROYED, "it goes once");
    CHECK(cuStreamDestroy(other));
    CHECK(cuModuleUnload(module));
    CHECK(cuMemFree(sum));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUdevResource all;
    unsigned total = multiprocessors(&all, gpu.device);
    CUdevResource part = split(&all, total);
    for (int i = 0; i < 2; i++)
        lives_and_ends(&gpu, &part);
    close_gpu(&gpu);
    return done();
}
