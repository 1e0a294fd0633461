// SPDX-License-Identifier: BSD-3-Clause
// Exports and imports memory pools. The exported descriptor is a file with the pool's id; an
// exported allocation is a struct ipc_handle (ipc_memory.h).
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/scope.h"
#include "sim/engine/ipc_memory.h"
#include "sim/engine/memory_pool.h"

#define LABEL_MAGIC UINT64_C(0x72677075706f6f6c)

struct pool_label {
    uint64_t magic, id;
    int64_t ordinal;
};

struct pooled_handle {
    struct ipc_handle memory;
    uint64_t pool;
};
_Static_assert(sizeof(struct pooled_handle) <= sizeof(CUmemPoolPtrExportData),
               "what travels is as large as the driver's");

static CUresult make_label(const struct pool_label *label, int *out)
{
    int file = memfd_create("rgpu-sim-pool", MFD_CLOEXEC);
    SIM_RETURN_IF(file < 0, CUDA_ERROR_OUT_OF_MEMORY);
    if (write(file, label, sizeof(*label)) != (ssize_t)sizeof(*label)) {
        close(file);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *out = file;
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolExportToShareableHandle, void *out, CUmemoryPool handle,
        CUmemAllocationHandleType type, unsigned long long flags)
{
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(pool_get(handle, &pool));
    struct pool_label label = {LABEL_MAGIC, pool_shared_id(pool), pool_device(pool)->ordinal};
    return label.id ? make_label(&label, out) : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuMemPoolImportFromShareableHandle, CUmemoryPool *out, void *shared,
        CUmemAllocationHandleType type, unsigned long long flags)
{
    struct pool_label label;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(type == CU_MEM_HANDLE_TYPE_FABRIC || type == CU_MEM_HANDLE_TYPE_WIN32,
                  CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(!out || !shared || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(pread((int)(intptr_t)shared, &label, sizeof(label), 0) != sizeof(label) ||
                      label.magic != LABEL_MAGIC || !label.id,
                  CUDA_ERROR_UNKNOWN);
    struct device *device = device_of_ordinal((int)label.ordinal);
    SIM_RETURN_IF(!device, CUDA_ERROR_INVALID_DEVICE);
    return pool_adopt(device, label.id, out);
}

SIM_API(cuMemPoolExportPointer, CUmemPoolPtrExportData *out, CUdeviceptr address)
{
    struct memory_range range;
    struct pooled_handle handle;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !memory_lookup(address, &range) || range.base != address ||
                      range.kind != MEMORY_POOL || !pool_shared_id(range.pool),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(ipc_memory_share(&range, &handle.memory));
    handle.pool = pool_shared_id(range.pool);
    memset(out, 0, sizeof(*out));
    memcpy(out, &handle, sizeof(handle));
    return CUDA_SUCCESS;
}

static CUresult open_pooled(struct memory_pool *pool, const struct pooled_handle *handle,
                            CUdeviceptr *address)
{
    struct context *context;
    SIM_RETURN_IF(!handle->pool || handle->pool != pool_imported_id(pool),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(context_require(&context));
    CUresult result = ipc_memory_open(context, pool, &handle->memory, address);
    return result == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : result;
}

SIM_API(cuMemPoolImportPointer, CUdeviceptr *address, CUmemoryPool pool_handle,
        CUmemPoolPtrExportData *data)
{
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    struct pooled_handle handle;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!address || !data, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(pool_get(pool_handle, &pool));
    memcpy(&handle, data, sizeof(handle));
    return open_pooled(pool, &handle, address);
}
