// SPDX-License-Identifier: BSD-3-Clause
// Region 0 is shared with the client over shm, and holds the worker's staging blocks over a byte
// stream.
#include "daemon/worker/copy/parts/pinned.h"

#include <sys/mman.h>

#include "worker_driver.h"

struct pinned pinned;

static CUresult pinned_register_host(void *base, size_t size, CUdeviceptr *out)
{
    CUresult result =
        driver.cuMemHostRegister_v2(base, size,
                                    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

    if (result == CUDA_SUCCESS)
        result = driver.cuMemHostGetDevicePointer_v2(out, base, 0);
    return result;
}

static CUresult make_semaphores(void)
{
    void *page = mmap(NULL, SEMAPHORES * sizeof(*pinned.semaphores), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (page == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pinned.semaphores = page;
    return CUDA_SUCCESS;
}

CUresult pinned_register(void)
{
    CUresult result = pinned.semaphores ? CUDA_SUCCESS : make_semaphores();

    if (result == CUDA_SUCCESS)
        result = pinned_register_host((void *)pinned.semaphores,
                                      SEMAPHORES * sizeof(*pinned.semaphores),
                                      &pinned.semaphores_device);
    if (result == CUDA_SUCCESS)
        result = pinned_register_host(pinned.staging->base, pinned.staging->size,
                                      &pinned.staging_device);
    if (result == CUDA_SUCCESS) {
        pinned.flags_device = pinned.staging_device + pinned.staging->flags_offset;
        result = driver.cuCtxGetCurrent(&pinned.owner);
    }
    return result;
}

CUresult pinned_register_in(CUcontext context)
{
    CUresult result = pinned.owner ? CUDA_SUCCESS : driver.cuCtxPushCurrent_v2(context);

    if (pinned.owner || result != CUDA_SUCCESS)
        return result;
    result = pinned_register();
    driver.cuCtxPopCurrent_v2(&(CUcontext){0});
    return result;
}

CUresult pinned_replace(const struct link_staging *staging)
{
    CUdeviceptr device = 0;

    if (!pinned.owner) { // no context yet
        pinned.staging = staging;
        return CUDA_SUCCESS;
    }
    CUresult result = driver.cuCtxPushCurrent_v2(pinned.owner);
    if (result != CUDA_SUCCESS)
        return result;
    result = pinned_register_host(staging->base, staging->size, &device);
    if (result == CUDA_SUCCESS) {
        driver.cuMemHostUnregister(pinned.staging->base);
        pinned.staging = staging;
        pinned.staging_device = device;
        pinned.flags_device = device + staging->flags_offset;
    }
    driver.cuCtxPopCurrent_v2(&(CUcontext){0});
    return result;
}

void pinned_drop_unused(void)
{
    if (pinned.shm && shm_memory_staging(pinned.shm) != pinned.staging)
        shm_memory_free(&pinned.shm);
}

void pinned_unregister(void)
{
    driver.cuMemHostUnregister((void *)pinned.semaphores);
    driver.cuMemHostUnregister(pinned.staging->base);
    pinned.owner = NULL;
}
