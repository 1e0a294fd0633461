// SPDX-License-Identifier: BSD-3-Clause
// Managed memory. Memory of a software GPU is memory of this process, so nothing migrates; advice
// and prefetches are only recorded.
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "common/driver/advice.h"
#include "sim/engine/capture.h"
#include "sim/engine/memory.h"
#include "sim/engine/stream.h"
#include "common/base/scope.h"

enum { PAGE = 4096 };

SIM_API(cuMemAllocManaged, CUdeviceptr *out, size_t size, unsigned int flags)
{
    struct context *context;
    uint64_t address;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    SIM_TRY(memory_allocate(context, size, MEMORY_MANAGED, NULL, &address));
    memset((void *)(uintptr_t)address, 0, size);
    // A forked child does not inherit the memory.
    madvise((void *)(uintptr_t)address, (size + PAGE - 1) & ~(size_t)(PAGE - 1), MADV_DONTFORK);
    *out = address;
    return CUDA_SUCCESS;
}

SIM_API(cuStreamAttachMemAsync, CUstream stream, CUdeviceptr address, size_t size, unsigned flags)
{
    struct memory_range range;
    bool single = flags == CU_MEM_ATTACH_SINGLE;
    struct stream *of;
    SIM_TRY(stream_get(stream, &of));
    object_put(&of->object);
    SIM_RETURN_IF(!memory_lookup(address, &range) || !memory_is_managed(&range) ||
                      range.base != address || (size && size != range.size) ||
                      (!single && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) ||
                      (single && (!stream || stream == CU_STREAM_LEGACY)),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

// ---- advice and prefetch locations ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct advice_table table;

static bool managed_api_is_managed(CUdeviceptr address, size_t size)
{
    struct memory_range range;
    return size && memory_lookup_span(address, size, &range) && memory_is_managed(&range);
}

static CUresult managed_api_check(CUdeviceptr address, size_t size, CUmemLocation place)
{
    struct device *device;
    SIM_RETURN_IF(!managed_api_is_managed(address, size), CUDA_ERROR_INVALID_VALUE);
    switch ((int)place.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return device_get(place.id, &device);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

SIM_API(cuMemPrefetchAsync_v2, CUdeviceptr address, size_t size, CUmemLocation place,
        unsigned flags, CUstream stream)
{
    struct stream *of;
    SIM_TRY(stream_get(stream, &of));
    object_put(&of->object);
    SIM_RETURN_IF(flags, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(managed_api_check(address, size, place));
    SCOPED_LOCK(&lock);
    return advice_prefetched(&table, address, size, place);
}

SIM_API(cuMemAdvise_v2, CUdeviceptr address, size_t size, CUmem_advise advise, CUmemLocation place)
{
    struct context *context;
    CUmemLocation any = {.type = CU_MEM_LOCATION_TYPE_HOST};
    bool of_place = (int)advise >= CU_MEM_ADVISE_SET_PREFERRED_LOCATION &&
                    (int)advise != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    SIM_TRY(context_require(&context));
    SIM_TRY(managed_api_check(address, size, of_place ? place : any));
    SCOPED_LOCK(&lock);
    return advice_give(&table, address, size, advise, place);
}

SIM_API(cuMemRangeGetAttribute, void *data, size_t data_size, CUmem_range_attribute attribute,
        CUdeviceptr address, size_t size)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!managed_api_is_managed(address, size), CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&lock);
    return advice_ask(&table, address, size, attribute, data, data_size);
}
