// SPDX-License-Identifier: BSD-3-Clause
// Implements pinned host memory, allocated here or registered by the program. Kernels can access
// all of it.
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "common/base/resident.h"
#include "sim/engine/capture.h"
#include "sim/engine/memory.h"

SIM_API(cuMemHostAlloc, void **out, size_t size, unsigned flags)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                                      CU_MEMHOSTALLOC_WRITECOMBINED),
                  CUDA_ERROR_INVALID_VALUE);
    if (!size) {
        *out = NULL;
        return CUDA_SUCCESS;
    }
    SIM_TRY(capture_check_unsafe());
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SIM_RETURN_IF(memory == MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = memory_add_host(context, memory, size, MEMORY_HOST, flags);
    if (result) {
        munmap(memory, size);
        return result;
    }
    *out = memory;
    return CUDA_SUCCESS;
}

static bool is_allocated(const struct memory_range *range)
{
    return range->kind == MEMORY_HOST;
}

static bool is_registered(const struct memory_range *range)
{
    return range->kind == MEMORY_REGISTERED;
}

SIM_API(cuMemFreeHost, void *pointer)
{
    struct memory_range range;
    uint64_t address = (uintptr_t)pointer;
    SIM_TRY(sim_check_ready());
    if (!pointer)
        return CUDA_SUCCESS;
    SIM_RETURN_IF(!memory_lookup(address, &range) || range.base != address || !is_allocated(&range),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    SIM_TRY(memory_synchronize_owner(&range));
    return memory_release(address, is_allocated, NULL);
}

SIM_API(cuMemHostRegister_v2, void *pointer, size_t size, unsigned flags)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!pointer || !size || (uintptr_t)pointer + size < (uintptr_t)pointer,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(flags & ~(unsigned)(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                      CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    int err = memory_make_lockable(pointer, size, !(flags & CU_MEMHOSTREGISTER_READ_ONLY));
    SIM_RETURN_IF(err, err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
    return memory_add_host(context, pointer, size, MEMORY_REGISTERED, flags);
}

SIM_API(cuMemHostUnregister, void *pointer)
{
    struct memory_range range;
    uint64_t address = (uintptr_t)pointer;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!pointer, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!memory_lookup(address, &range), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    SIM_RETURN_IF(is_allocated(&range), CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(range.base != address || !is_registered(&range),
                  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    SIM_TRY(capture_check_unsafe());
    SIM_TRY(memory_synchronize_owner(&range));
    return memory_release(address, is_registered, NULL);
}

static CUresult lookup_host(void *pointer, struct memory_range *range)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!memory_lookup((uintptr_t)pointer, range) || !memory_is_host(range),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

SIM_API(cuMemHostGetDevicePointer_v2, CUdeviceptr *out, void *pointer, unsigned int flags)
{
    struct memory_range range;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || flags, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(lookup_host(pointer, &range));
    *out = (uintptr_t)pointer;
    return CUDA_SUCCESS;
}

// Accepts memory of cuMemHostAlloc only, as documented. With unified addressing all of it is
// mapped.
SIM_API(cuMemHostGetFlags, unsigned int *flags, void *pointer)
{
    struct memory_range range;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!flags, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(lookup_host(pointer, &range));
    SIM_RETURN_IF(range.kind != MEMORY_HOST, CUDA_ERROR_INVALID_VALUE);
    *flags = range.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
