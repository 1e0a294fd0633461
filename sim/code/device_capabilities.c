// SPDX-License-Identifier: BSD-3-Clause
// Implements queries of device properties besides attributes: atomic operations between devices,
// and maximum widths of linear textures.
#include "sim/engine/context.h"
#include "sim/engine/device.h"
#include "sim/sim.h"

enum { TEXTURE_1D_LINEAR_WIDTH = 1 << 28 };

// Reports the atomic operations on host or peer memory. All of it is host memory, so every
// supported operation works there.
static CUresult capabilities_of(unsigned int *out, const CUatomicOperation *operations,
                                unsigned int count)
{
    SIM_RETURN_IF(!out || !operations || !count, CUDA_ERROR_INVALID_VALUE);
    for (unsigned int i = 0; i < count; i++) {
        SIM_RETURN_IF((unsigned int)operations[i] >= CU_ATOMIC_OPERATION_MAX,
                      CUDA_ERROR_INVALID_VALUE);
        out[i] = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64 |
                 CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED;
        if (operations[i] >= CU_ATOMIC_OPERATION_FLOAT_ADD)
            out[i] &= ~(unsigned int)CU_ATOMIC_CAPABILITY_UNSIGNED;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetHostAtomicCapabilities, unsigned int *capabilities,
        const CUatomicOperation *operations, unsigned int count, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    return capabilities_of(capabilities, operations, count);
}

SIM_API(cuDeviceGetP2PAtomicCapabilities, unsigned int *capabilities,
        const CUatomicOperation *operations, unsigned int count, CUdevice source,
        CUdevice destination)
{
    struct device *a, *b;
    SIM_TRY(device_get(source, &a));
    SIM_TRY(device_get(destination, &b));
    SIM_RETURN_IF(a == b, CUDA_ERROR_INVALID_DEVICE);
    return capabilities_of(capabilities, operations, count);
}

// Does nothing, because writes to the device's memory are visible at once.
SIM_API(cuFlushGPUDirectRDMAWrites, CUflushGPUDirectRDMAWritesTarget target,
        CUflushGPUDirectRDMAWritesScope scope)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
                      (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
                       scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static unsigned int device_capabilities_format_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    }
    return 0;
}

SIM_API(cuDeviceGetTexture1DLinearMaxWidth, size_t *elements, CUarray_format format,
        unsigned int channels, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!elements || !device_capabilities_format_bytes(format) ||
                      (channels != 1 && channels != 2 && channels != 4),
                  CUDA_ERROR_INVALID_VALUE);
    *elements = TEXTURE_1D_LINEAR_WIDTH;
    return CUDA_SUCCESS;
}
