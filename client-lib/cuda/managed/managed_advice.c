// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/managed_advice.h"

#include <pthread.h>
#include <stdbool.h>

#include "client-lib/cuda/managed/mirror.h"
#include "client-lib/cuda/objects/addresses.h"
#include "common/driver/advice.h"
#include "common/base/scope.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct advice_table table;

static bool managed_advice_is_managed(CUdeviceptr dptr, size_t count)
{
    struct allocation memory;
    return count && memory_find(dptr, &memory) && memory.managed &&
           count <= memory.size - (dptr - memory.base);
}

static CUresult managed_advice_check(CUdeviceptr dptr, size_t count, CUmemLocation location)
{
    if (!managed_advice_is_managed(dptr, count))
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return session_of_device(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult managed_advise(CUdeviceptr dptr, size_t count, CUmem_advise advise, CUmemLocation location)
{
    // These two concern a location; the others concern all.
    bool of_place = (int)advise >= CU_MEM_ADVISE_SET_PREFERRED_LOCATION &&
                    (int)advise != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    CUmemLocation any = {.type = CU_MEM_LOCATION_TYPE_HOST};
    CUresult result = managed_advice_check(dptr, count, of_place ? location : any);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    return advice_give(&table, dptr, count, advise, location);
}

CUresult managed_prefetch(CUdeviceptr dptr, size_t count, CUmemLocation location)
{
    CUresult result = managed_advice_check(dptr, count, location);
    if (result == CUDA_SUCCESS && location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        result = mirror_send(dptr, count);
    else if (result == CUDA_SUCCESS)
        mirror_expect(dptr, count);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    return advice_prefetched(&table, dptr, count, location);
}

CUresult managed_discard(CUdeviceptr dptr, size_t count)
{
    return managed_advice_is_managed(dptr, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult managed_ask(void *data, size_t data_size, CUmem_range_attribute attribute,
                     CUdeviceptr dptr, size_t count)
{
    if (!managed_advice_is_managed(dptr, count))
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_LOCK(&lock);
    return advice_ask(&table, dptr, count, attribute, data, data_size);
}

void managed_advice_forget(CUdeviceptr dptr, size_t count)
{
    SCOPED_LOCK(&lock);
    advice_forget(&table, dptr, count);
}
