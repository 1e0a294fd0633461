// SPDX-License-Identifier: BSD-3-Clause
// Memory management: copies, and filling memory.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/memory/arrays.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"

// Defines a copy call and its variant for per-thread default streams (SUFFIX _ptds or _ptsz) from
// the expression that does it; `used` in it is the stream.
#define COPY_CALLS(name, suffix, parameters, stream, does) \
    CUresult name parameters \
    { \
        CUstream used = (stream); \
        return does; \
    } \
    CUresult name##suffix parameters \
    { \
        CUstream used = stream_per_thread(stream); \
        return does; \
    }

static bool cu_memcpy_is_known(CUdeviceptr address, size_t size)
{
    struct allocation found;
    return memory_find_span(address, size, &found);
}

// Returns the size of rows that fill_span() measures; SIZE_MAX if they do not fit.
static size_t rows_size(size_t pitch, size_t width, size_t element, size_t height)
{
    size_t size;
    if (!height)
        return 0;
    return fill_span(pitch, element, width, height, &size) ? size : SIZE_MAX;
}

// Ends a call without Async that copies on the device alone. The driver returns before the GPU has
// finished such a copy, unless memory is marked for synchronous copies; the order of the stream
// covers the rest. An address that is not known here may be a variable of a module, or wrong: then
// the box is queried, so that this call returns the error.
static CUresult cu_memcpy_settled(CUresult result, CUdeviceptr dst, CUdeviceptr src, size_t size,
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

// ---- linear memory ----

COPY_CALLS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
           NULL, copy_in(dstDevice, srcHost, ByteCount, used, true))
COPY_CALLS(cuMemcpyHtoDAsync_v2, _ptsz,
           (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
           hStream, copy_in(dstDevice, srcHost, ByteCount, used, false))
COPY_CALLS(cuMemcpyDtoH_v2, _ptds, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), NULL,
           copy_out(dstHost, srcDevice, ByteCount, used, true))
COPY_CALLS(cuMemcpyDtoHAsync_v2, _ptsz,
           (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), hStream,
           copy_out(dstHost, srcDevice, ByteCount, used, false))
COPY_CALLS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
           NULL,
           cu_memcpy_settled(copy_on_devices(dstDevice, srcDevice, ByteCount, used, true),
                             dstDevice, srcDevice, ByteCount, used))
COPY_CALLS(cuMemcpyDtoDAsync_v2, _ptsz,
           (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
           hStream, copy_on_devices(dstDevice, srcDevice, ByteCount, used, false))
COPY_CALLS(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), NULL,
           copy_unified(dst, src, ByteCount, used, true))
COPY_CALLS(cuMemcpyAsync, _ptsz,
           (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), hStream,
           copy_unified(dst, src, ByteCount, used, false))

// ---- filling ----

// Defines the calls that fill linear memory and rows with elements of BITS, whose type is TYPE.
#define FILL_CALLS(bits, type) \
    static CUresult fill_d##bits(CUdeviceptr dst, type value, size_t count, CUstream stream) \
    { \
        CUresult result; \
        return fill_on_host(&dst, 0, value, sizeof(type), count, 1, stream, &result) \
                   ? result \
                   : remote_cuMemsetD##bits##Async(dst, value, count, stream); \
    } \
    static CUresult fill_rows_d##bits(CUdeviceptr dst, size_t pitch, type value, size_t width, \
                                      size_t height, CUstream stream) \
    { \
        CUresult result; \
        return fill_on_host(&dst, pitch, value, sizeof(type), width, height, stream, &result) \
                   ? result \
                   : remote_cuMemsetD2D##bits##Async(dst, pitch, value, width, height, stream); \
    } \
    COPY_CALLS(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dstDevice, type value, size_t N), NULL, \
               cu_memcpy_settled(fill_d##bits(dstDevice, value, N, used), dstDevice, dstDevice, \
                                 rows_size(0, N, sizeof(type), 1), used)) \
    COPY_CALLS(cuMemsetD##bits##Async, _ptsz, \
               (CUdeviceptr dstDevice, type value, size_t N, CUstream hStream), hStream, \
               fill_d##bits(dstDevice, value, N, used)) \
    COPY_CALLS( \
        cuMemsetD2D##bits##_v2, _ptds, \
        (CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width, size_t Height), NULL, \
        cu_memcpy_settled(fill_rows_d##bits(dstDevice, dstPitch, value, Width, Height, used), \
                          dstDevice, dstDevice, rows_size(dstPitch, Width, sizeof(type), Height), \
                          used)) \
    COPY_CALLS(cuMemsetD2D##bits##Async, _ptsz, \
               (CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width, size_t Height, \
                CUstream hStream), \
               hStream, fill_rows_d##bits(dstDevice, dstPitch, value, Width, Height, used))

FILL_CALLS(8, unsigned char)
FILL_CALLS(16, unsigned short)
FILL_CALLS(32, unsigned int)

// ---- arrays ----

#define HOST(address) \
    CU_MEMORYTYPE_HOST, (struct array_line) \
    { \
        .host = (address) \
    }
#define DEVICE(address) \
    CU_MEMORYTYPE_DEVICE, (struct array_line) \
    { \
        .device = (address) \
    }
#define ARRAY(which, at) \
    CU_MEMORYTYPE_ARRAY, (struct array_line) \
    { \
        .array = (which), .offset = (at) \
    }

COPY_CALLS(cuMemcpyDtoA_v2, _ptds,
           (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount), NULL,
           copy_array_line(ARRAY(dstArray, dstOffset), DEVICE(srcDevice), ByteCount, used, true))
COPY_CALLS(cuMemcpyAtoD_v2, _ptds,
           (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount), NULL,
           copy_array_line(DEVICE(dstDevice), ARRAY(srcArray, srcOffset), ByteCount, used, true))
COPY_CALLS(cuMemcpyHtoA_v2, _ptds,
           (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount), NULL,
           copy_array_line(ARRAY(dstArray, dstOffset), HOST(srcHost), ByteCount, used, true))
COPY_CALLS(cuMemcpyAtoH_v2, _ptds,
           (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount), NULL,
           copy_array_line(HOST(dstHost), ARRAY(srcArray, srcOffset), ByteCount, used, true))
COPY_CALLS(cuMemcpyAtoA_v2, _ptds,
           (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
            size_t ByteCount),
           NULL,
           copy_array_line(ARRAY(dstArray, dstOffset), ARRAY(srcArray, srcOffset), ByteCount, used,
                           true))
COPY_CALLS(cuMemcpyHtoAAsync_v2, _ptsz,
           (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount,
            CUstream hStream),
           hStream,
           copy_array_line(ARRAY(dstArray, dstOffset), HOST(srcHost), ByteCount, used, false))
COPY_CALLS(cuMemcpyAtoHAsync_v2, _ptsz,
           (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream),
           hStream,
           copy_array_line(HOST(dstHost), ARRAY(srcArray, srcOffset), ByteCount, used, false))

// ---- rectangles ----

COPY_CALLS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *pCopy), NULL, copy_2d(pCopy, used, true))
COPY_CALLS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *pCopy), NULL,
           copy_2d(pCopy, used, true))
COPY_CALLS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *pCopy, CUstream hStream), hStream,
           copy_2d(pCopy, used, false))
COPY_CALLS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *pCopy), NULL, copy_3d(pCopy, used, true))
COPY_CALLS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *pCopy, CUstream hStream), hStream,
           copy_3d(pCopy, used, false))
COPY_CALLS(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *pCopy), NULL,
           copy_peer_3d(pCopy, used, true))
COPY_CALLS(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream), hStream,
           copy_peer_3d(pCopy, used, false))
COPY_CALLS(cuMemcpyPeer, _ptds,
           (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
            CUcontext srcContext, size_t ByteCount),
           NULL, copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, used, true))
COPY_CALLS(cuMemcpyPeerAsync, _ptsz,
           (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
            CUcontext srcContext, size_t ByteCount, CUstream hStream),
           hStream, copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, used, false))

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

static CUresult copy_batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                           const CUmemcpyAttributes *attributes, const size_t *attributes_from,
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

static CUresult cu_memcpy_copy_3d_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops,
                                        size_t *failed, unsigned long long flags, CUstream stream)
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

COPY_CALLS(cuMemcpy3DBatchAsync_v2, _ptsz,
           (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
            CUstream hStream),
           hStream, cu_memcpy_copy_3d_batch(numOps, opList, NULL, flags, used))
COPY_CALLS(cuMemcpy3DBatchAsync, _ptsz,
           (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
            unsigned long long flags, CUstream hStream),
           hStream, cu_memcpy_copy_3d_batch(numOps, opList, failIdx, flags, used))
COPY_CALLS(cuMemcpyBatchAsync_v2, _ptsz,
           (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
            CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream),
           hStream, copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL, used))
COPY_CALLS(cuMemcpyBatchAsync, _ptsz,
           (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
            CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
            CUstream hStream),
           hStream, copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, used))
