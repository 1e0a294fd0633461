// SPDX-License-Identifier: BSD-3-Clause
// Batches of copies of three dimensions, whose rows and layers are counted in bytes.
#include "sim/sim.h"

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);

static CUresult copy_one(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    const CUmemcpy3DOperand *from = &op->src, *to = &op->dst;
    SIM_RETURN_IF(op->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
                      op->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(from->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ||
                      to->type == CU_MEMCPY_OPERAND_TYPE_ARRAY,
                  CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(from->type != CU_MEMCPY_OPERAND_TYPE_POINTER || to->type != from->type,
                  CUDA_ERROR_INVALID_VALUE);
    size_t width = op->extent.width, height = op->extent.height;
    CUDA_MEMCPY3D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = from->op.ptr.ptr,
        .srcPitch = from->op.ptr.rowLength ? from->op.ptr.rowLength : width,
        .srcHeight = from->op.ptr.layerHeight ? from->op.ptr.layerHeight : height,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = to->op.ptr.ptr,
        .dstPitch = to->op.ptr.rowLength ? to->op.ptr.rowLength : width,
        .dstHeight = to->op.ptr.layerHeight ? to->op.ptr.layerHeight : height,
        .WidthInBytes = width,
        .Height = height,
        .Depth = op->extent.depth,
    };
    return cuMemcpy3DAsync_v2(&copy, stream);
}

static CUresult copy_3d_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
                              unsigned long long flags, CUstream stream)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!count || !ops || flags || !stream || stream == CU_STREAM_LEGACY,
                  CUDA_ERROR_INVALID_VALUE);
    if (failed)
        *failed = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        CUresult result = copy_one(&ops[i], stream);
        if (result != CUDA_SUCCESS && failed)
            *failed = i;
        SIM_TRY(result);
    }
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuMemcpy3DBatchAsync,
               (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed, unsigned long long flags,
                CUstream stream),
               copy_3d_batch(count, ops, failed, flags, stream))
SIM_STREAM_API(cuMemcpy3DBatchAsync_v2,
               (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags,
                CUstream stream),
               copy_3d_batch(count, ops, NULL, flags, stream))
