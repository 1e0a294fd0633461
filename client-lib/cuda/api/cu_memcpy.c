// SPDX-License-Identifier: BSD-3-Clause
// Memory management: copies, and filling memory.
#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/memory/arrays.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"

static bool cu_memcpy_is_known(CUdeviceptr address, size_t size)
{
    struct allocation found;
    return memory_find_span(address, size, &found);
}

size_t fill_bytes(size_t pitch, size_t width, size_t element, size_t height)
{
    size_t size;
    if (!height)
        return 0;
    return fill_span(pitch, element, width, height, &size) ? size : SIZE_MAX;
}

CUresult copy_settled(CUresult result, CUdeviceptr dst, CUdeviceptr src, size_t size,
                      CUstream stream)
{
    CUfunc_cache unused;
    if (result != CUDA_SUCCESS)
        return result;
    if (memory_has_sync_copies(dst) || memory_has_sync_copies(src))
        return remote_cuStreamSynchronize(stream);
    return cu_memcpy_is_known(dst, size) && cu_memcpy_is_known(src, size)
               ? CUDA_SUCCESS
               : remote_cuCtxGetCacheConfig(&unused);
}

CUresult fill_linear(CUdeviceptr dst, uint32_t value, size_t element, size_t count, CUstream stream)
{
    CUresult result;
    if (fill_on_host(&dst, 0, value, element, count, 1, stream, &result))
        return result;
    switch (element) {
    case 1: return remote_cuMemsetD8Async(dst, (unsigned char)value, count, stream);
    case 2: return remote_cuMemsetD16Async(dst, (unsigned short)value, count, stream);
    default: return remote_cuMemsetD32Async(dst, value, count, stream);
    }
}

CUresult fill_rows(CUdeviceptr dst, size_t pitch, uint32_t value, size_t element, size_t width,
                   size_t height, CUstream stream)
{
    CUresult result;
    if (fill_on_host(&dst, pitch, value, element, width, height, stream, &result))
        return result;
    switch (element) {
    case 1:
        return remote_cuMemsetD2D8Async(dst, pitch, (unsigned char)value, width, height, stream);
    case 2:
        return remote_cuMemsetD2D16Async(dst, pitch, (unsigned short)value, width, height, stream);
    default: return remote_cuMemsetD2D32Async(dst, pitch, value, width, height, stream);
    }
}

// ---- batches ----

// The driver accepts batches only in streams that the program has created.
static CUresult batch_begins(CUstream stream, size_t *failed)
{
    CUresult ready = process_ready();
    if (failed)
        *failed = SIZE_MAX; // the error concerns no particular copy
    if (ready == CUDA_SUCCESS && (!stream || stream == CU_STREAM_LEGACY))
        ready = CUDA_ERROR_INVALID_VALUE;
    return ready;
}

static bool order_is_known(CUmemcpySrcAccessOrder order)
{
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

// Each attribute applies to the copies from its index up to the next attribute's index. Here every
// copy reads its source in stream order or before the call returns, which all attributes allow.
static CUresult cu_memcpy_check_attributes(const CUmemcpyAttributes *attributes, const size_t *from,
                                           size_t count, size_t copies)
{
    if (!attributes || !from || !count || count > copies || from[0])
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!order_is_known(attributes[i].srcAccessOrder) || from[i] >= copies ||
            (i && from[i] <= from[i - 1]))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *attributes_from,
                            size_t attribute_count, size_t *failed, CUstream stream)
{
    CUresult begun = batch_begins(stream, failed);
    if (begun == CUDA_SUCCESS && (!dsts || !srcs || !sizes || !count))
        begun = CUDA_ERROR_INVALID_VALUE;
    if (begun == CUDA_SUCCESS)
        begun = cu_memcpy_check_attributes(attributes, attributes_from, attribute_count, count);
    if (begun != CUDA_SUCCESS)
        return begun;
    for (size_t i = 0; i < count; i++) {
        if (!dsts[i] || !srcs[i] || !sizes[i])
            begun = CUDA_ERROR_INVALID_VALUE;
        CUresult result =
            begun != CUDA_SUCCESS ? begun : copy_unified(dsts[i], srcs[i], sizes[i], stream, false);
        if (result != CUDA_SUCCESS) {
            if (failed)
                *failed = i;
            return result;
        }
    }
    return CUDA_SUCCESS;
}

static bool cu_memcpy_is_array(const CUmemcpy3DOperand *operand)
{
    return operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}

// Returns the size of the elements in which a copy of a batch counts: that of its arrays, else 1
// byte. 0: its arrays have different sizes.
static size_t cu_memcpy_element_of(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    const CUmemcpy3DOperand *sides[2] = {&op->src, &op->dst};
    size_t element = 0;
    for (int i = 0; i < 2; i++) {
        if (!cu_memcpy_is_array(sides[i]))
            continue;
        const struct object *array = object_find(HANDLE_ARRAY, sides[i]->op.array.array);
        size_t bytes = array ? array_element_bytes(array) : 0;
        if (!bytes || (element && element != bytes))
            return 0;
        element = bytes;
    }
    return element ? element : 1;
}

// Converts a side to the form that copies within and between boxes use.
struct batch_side {
    CUmemorytype type;
    CUdeviceptr address;
    CUarray array;
    size_t x, y, z, pitch, rows;
};

static CUresult cu_memcpy_operand(const CUmemcpy3DOperand *from, const CUextent3D *extent,
                                  size_t element, struct batch_side *out)
{
    *out = (struct batch_side){.type = CU_MEMORYTYPE_UNIFIED, .address = from->op.ptr.ptr};
    if (cu_memcpy_is_array(from)) {
        const CUoffset3D *at = &from->op.array.offset;
        *out = (struct batch_side){
            .type = CU_MEMORYTYPE_ARRAY, .array = from->op.array.array, .y = at->y, .z = at->z};
        return __builtin_mul_overflow(at->x, element, &out->x) ? CUDA_ERROR_INVALID_VALUE
                                                               : CUDA_SUCCESS;
    }
    if (from->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = from->op.ptr.rowLength ? from->op.ptr.rowLength : extent->width;
    out->rows = from->op.ptr.layerHeight ? from->op.ptr.layerHeight : extent->height;
    if (__builtin_mul_overflow(row, element, &out->pitch) || row < extent->width ||
        out->rows < extent->height)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult copy_operand(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    size_t element = cu_memcpy_element_of(op), width;
    struct batch_side from, to;
    if (!order_is_known(op->srcAccessOrder) || !element ||
        __builtin_mul_overflow(op->extent.width, element, &width))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cu_memcpy_operand(&op->src, &op->extent, element, &from);
    if (result == CUDA_SUCCESS)
        result = cu_memcpy_operand(&op->dst, &op->extent, element, &to);
    bool empty = !width || !op->extent.height || !op->extent.depth;
    if (result == CUDA_SUCCESS && empty && (from.array || to.array))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    CUDA_MEMCPY3D copy = {.srcMemoryType = from.type,
                          .srcDevice = from.address,
                          .srcArray = from.array,
                          .srcXInBytes = from.x,
                          .srcY = from.y,
                          .srcZ = from.z,
                          .srcPitch = from.pitch,
                          .srcHeight = from.rows,
                          .dstMemoryType = to.type,
                          .dstDevice = to.address,
                          .dstArray = to.array,
                          .dstXInBytes = to.x,
                          .dstY = to.y,
                          .dstZ = to.z,
                          .dstPitch = to.pitch,
                          .dstHeight = to.rows,
                          .WidthInBytes = width,
                          .Height = op->extent.height,
                          .Depth = op->extent.depth};
    return copy_3d(&copy, stream, false);
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
                              unsigned long long flags, CUstream stream)
{
    CUresult begun = batch_begins(stream, failed);
    if (begun != CUDA_SUCCESS || !ops || !count || flags)
        return begun != CUDA_SUCCESS ? begun : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult result = copy_operand(&ops[i], stream);
        if (result != CUDA_SUCCESS) {
            if (failed)
                *failed = i;
            return result;
        }
    }
    return CUDA_SUCCESS;
}
