// SPDX-License-Identifier: BSD-3-Clause
// Implements batches of three-dimensional copies. Their rows and layers are counted in elements of
// arrays, or in bytes.
#include "sim/array/array_storage.h"
#include "sim/sim.h"

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);

// Returns the bytes of an array's element, the unit of its copies; 1 for memory, 0 if the array
// does not exist.
static size_t copy_batch_3d_element_of(const CUmemcpy3DOperand *operand)
{
    struct sim_array *array;
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return 1;
    if (array_get(operand->op.array.array, &array))
        return 0;
    size_t bytes = array_part_of(array)->element.bytes;
    object_put(&array->object);
    return bytes;
}

struct batch_place {
    CUmemorytype type;
    CUdeviceptr address;
    CUarray array;
    CUoffset3D at;
    size_t pitch, rows;
};

static CUresult understand(const CUmemcpy3DOperand *from, const CUextent3D *extent, size_t element,
                           struct batch_place *out)
{
    size_t row = from->op.ptr.rowLength ? from->op.ptr.rowLength : extent->width;
    if (from->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        *out = (struct batch_place){.type = CU_MEMORYTYPE_ARRAY,
                                    .array = from->op.array.array,
                                    .at = from->op.array.offset};
        out->at.x *= element;
        return CUDA_SUCCESS;
    }
    SIM_RETURN_IF(from->type != CU_MEMCPY_OPERAND_TYPE_POINTER, CUDA_ERROR_INVALID_VALUE);
    *out = (struct batch_place){.type = CU_MEMORYTYPE_UNIFIED,
                                .address = from->op.ptr.ptr,
                                .pitch = row * element,
                                .rows = from->op.ptr.layerHeight ? from->op.ptr.layerHeight
                                                                 : extent->height};
    return CUDA_SUCCESS;
}

static CUresult copy_one(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    size_t of_source = copy_batch_3d_element_of(&op->src),
           of_destination = copy_batch_3d_element_of(&op->dst);
    bool arrays = op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ||
                  op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
    bool both = op->src.type == op->dst.type;
    size_t element = of_source > of_destination ? of_source : of_destination, width;
    struct batch_place from, to;
    SIM_RETURN_IF(op->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
                      op->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY || !of_source ||
                      !of_destination || (both && of_source != of_destination) ||
                      __builtin_mul_overflow(op->extent.width, element, &width),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(arrays && (!width || !op->extent.height || !op->extent.depth),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(understand(&op->src, &op->extent, element, &from));
    SIM_TRY(understand(&op->dst, &op->extent, element, &to));
    CUDA_MEMCPY3D copy = {
        .srcMemoryType = from.type,
        .srcDevice = from.address,
        .srcArray = from.array,
        .srcXInBytes = from.at.x,
        .srcY = from.at.y,
        .srcZ = from.at.z,
        .srcPitch = from.pitch,
        .srcHeight = from.rows,
        .dstMemoryType = to.type,
        .dstDevice = to.address,
        .dstArray = to.array,
        .dstXInBytes = to.at.x,
        .dstY = to.at.y,
        .dstZ = to.at.z,
        .dstPitch = to.pitch,
        .dstHeight = to.rows,
        .WidthInBytes = width,
        .Height = op->extent.height,
        .Depth = op->extent.depth,
    };
    return cuMemcpy3DAsync_v2(&copy, stream);
}

SIM_API(cuMemcpy3DBatchAsync, size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
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
