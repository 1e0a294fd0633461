// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that copy rectangles and boxes between pitched memory and arrays, and runs
// of bytes within the first row of an array.
#include <string.h>

#include "sim/memory/copy.h"
#include "sim/engine/device.h"
#include "sim/array/array_storage.h"

// ---- sides in arrays ----

// Checks a position. A copy may begin and end within a texel, but covers whole blocks.
static CUresult check_place(const struct array_part *part, size_t x, size_t y, size_t z,
                            const struct copy_box *box)
{
    size_t unit = part->element.block > 1 ? part->element.bytes : 1;
    SIM_RETURN_IF(x % unit || box->width % unit, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(x > part->row_bytes || box->width > part->row_bytes - x,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(y > part->rows || box->height > part->rows - y, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(z > array_slices(part) || box->depth > array_slices(part) - z,
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static void place_side(const struct array_storage *storage, const struct array_part *part,
                       struct copy_side *side)
{
    side->pitch = part->row_bytes;
    side->slice = part->slice_bytes;
    side->address = storage->base + part->offset + side->z * part->slice_bytes +
                    side->y * part->row_bytes + side->x;
}

// Describes a position in an array as a side of a copy of BOX's extent. Returns INVALID_VALUE if
// the array does not exist or the box does not fit.
static CUresult array_side(CUarray handle, size_t x, size_t y, size_t z, const struct copy_box *box,
                           struct copy_side *side)
{
    struct sim_array *array;
    SIM_RETURN_IF(array_get(handle, &array), CUDA_ERROR_INVALID_VALUE);
    const struct array_part *part = array_part_of(array);
    CUresult result = check_place(part, x, y, z, box);
    *side =
        (struct copy_side){.type = CU_MEMORYTYPE_ARRAY, .array = handle, .x = x, .y = y, .z = z};
    place_side(array->storage, part, side);
    object_put(&array->object);
    return result;
}

static CUresult copy_run(struct copy_box *box, CUarray to, size_t to_offset, CUarray from,
                         size_t from_offset, CUstream stream, enum copy_manner manner)
{
    SIM_TRY(sim_check_ready());
    if (box->width && box->destination.type == CU_MEMORYTYPE_ARRAY)
        SIM_TRY(array_side(to, to_offset, 0, 0, box, &box->destination));
    if (box->width && box->source.type == CU_MEMORYTYPE_ARRAY)
        SIM_TRY(array_side(from, from_offset, 0, 0, box, &box->source));
    return copy_submit(stream, box, manner);
}

static CUresult from_memory(CUarray to, size_t offset, uint64_t from, CUmemorytype type,
                            size_t size, CUstream stream, enum copy_manner manner)
{
    struct copy_box box = copy_line(0, CU_MEMORYTYPE_ARRAY, from, type, size);
    return copy_run(&box, to, offset, NULL, 0, stream, manner);
}

static CUresult to_memory(uint64_t to, CUmemorytype type, CUarray from, size_t offset, size_t size,
                          CUstream stream, enum copy_manner manner)
{
    struct copy_box box = copy_line(to, type, 0, CU_MEMORYTYPE_ARRAY, size);
    return copy_run(&box, NULL, 0, from, offset, stream, manner);
}

static CUresult copy_array_between(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
                                   size_t size, CUstream stream)
{
    struct copy_box box = copy_line(0, CU_MEMORYTYPE_ARRAY, 0, CU_MEMORYTYPE_ARRAY, size);
    return copy_run(&box, to, to_offset, from, from_offset, stream, COPY_SYNCHRONOUS);
}

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE

SIM_DEFAULT_STREAM_API(cuMemcpyHtoA_v2, (CUarray to, size_t offset, const void *from, size_t size),
                       from_memory(to, offset, (uintptr_t)from, HOST, size, stream,
                                   COPY_SYNCHRONOUS))
SIM_DEFAULT_STREAM_API(cuMemcpyAtoH_v2, (void *to, CUarray from, size_t offset, size_t size),
                       to_memory((uintptr_t)to, HOST, from, offset, size, stream, COPY_SYNCHRONOUS))
SIM_DEFAULT_STREAM_API(cuMemcpyDtoA_v2, (CUarray to, size_t offset, CUdeviceptr from, size_t size),
                       from_memory(to, offset, from, DEVICE, size, stream, COPY_SYNCHRONOUS))
SIM_DEFAULT_STREAM_API(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t offset, size_t size),
                       to_memory(to, DEVICE, from, offset, size, stream, COPY_SYNCHRONOUS))
SIM_DEFAULT_STREAM_API(cuMemcpyAtoA_v2,
                       (CUarray to, size_t to_offset, CUarray from, size_t from_offset,
                        size_t size),
                       copy_array_between(to, to_offset, from, from_offset, size, stream))
SIM_CALL(cuMemcpyHtoAAsync_v2,
         (CUarray to, size_t offset, const void *from, size_t size, CUstream stream),
         from_memory(to, offset, (uintptr_t)from, HOST, size, stream, COPY_ASYNCHRONOUS))
SIM_CALL(cuMemcpyAtoHAsync_v2,
         (void *to, CUarray from, size_t offset, size_t size, CUstream stream),
         to_memory((uintptr_t)to, HOST, from, offset, size, stream, COPY_ASYNCHRONOUS))

// One side of a CUDA_MEMCPY2D or CUDA_MEMCPY3D; their fields differ in name only.
struct side_request {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z;
    size_t pitch;
    size_t height;
};

static CUresult make_side(const struct side_request *request, const struct copy_box *box,
                          struct copy_side *side)
{
    switch (request->type) {
    case CU_MEMORYTYPE_HOST: side->address = (uintptr_t)request->host; break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: side->address = request->device; break;
    case CU_MEMORYTYPE_ARRAY:
        return array_side(request->array, request->x, request->y, request->z, box, side);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    size_t right, below, offset_rows;
    SIM_RETURN_IF(__builtin_add_overflow(request->x, box->width, &right) ||
                      __builtin_add_overflow(request->y, box->height, &below),
                  CUDA_ERROR_INVALID_VALUE);
    side->type = request->type;
    side->pitch = request->pitch ? request->pitch : right;
    size_t height = request->height ? request->height : below;
    SIM_RETURN_IF(side->pitch < right || height < below ||
                      __builtin_mul_overflow(side->pitch, height, &side->slice) ||
                      __builtin_mul_overflow(request->z, side->slice, &offset_rows),
                  CUDA_ERROR_INVALID_VALUE);
    side->address += request->x + request->y * side->pitch + offset_rows;
    return CUDA_SUCCESS;
}

static struct side_request destination_of(const CUDA_MEMCPY3D *p)
{
    return (struct side_request){p->dstMemoryType, p->dstHost,     p->dstDevice,
                                 p->dstArray,      p->dstXInBytes, p->dstY,
                                 p->dstZ,          p->dstPitch,    p->dstHeight};
}

static struct side_request source_of(const CUDA_MEMCPY3D *p)
{
    return (struct side_request){p->srcMemoryType, p->srcHost,     p->srcDevice,
                                 p->srcArray,      p->srcXInBytes, p->srcY,
                                 p->srcZ,          p->srcPitch,    p->srcHeight};
}

CUresult copy_understand(const CUDA_MEMCPY3D *p, struct copy_box *out)
{
    SIM_RETURN_IF(p->srcLOD || p->dstLOD, CUDA_ERROR_INVALID_VALUE);
    struct side_request to = destination_of(p), from = source_of(p);
    *out = (struct copy_box){.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth};
    SIM_TRY(make_side(&to, out, &out->destination));
    return make_side(&from, out, &out->source);
}

static CUresult copy_pitched_submit(const struct side_request *destination,
                                    const struct side_request *source, struct copy_box *box,
                                    CUstream stream, enum copy_manner manner)
{
    SIM_TRY(sim_check_ready());
    if (!box->width || !box->height || !box->depth)
        return copy_submit(stream, box, manner);
    SIM_TRY(make_side(destination, box, &box->destination));
    SIM_TRY(make_side(source, box, &box->source));
    return copy_submit(stream, box, manner);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, enum copy_manner manner,
                        size_t longest_pitch)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!p || p->srcPitch > longest_pitch || p->dstPitch > longest_pitch,
                  CUDA_ERROR_INVALID_VALUE);
    struct side_request to = {
        p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray,        p->dstXInBytes,
        p->dstY,          0,          p->dstPitch,  p->dstY + p->Height};
    struct side_request from = {
        p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray,        p->srcXInBytes,
        p->srcY,          0,          p->srcPitch,  p->srcY + p->Height};
    struct copy_box box = {.width = p->WidthInBytes, .height = p->Height, .depth = 1};
    return copy_pitched_submit(&to, &from, &box, stream, manner);
}

SIM_DEFAULT_STREAM_API(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy),
                       copy_2d(copy, stream, COPY_SYNCHRONOUS, DEVICE_MAX_PITCH))
SIM_DEFAULT_STREAM_API(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *copy),
                       copy_2d(copy, stream, COPY_SYNCHRONOUS, SIZE_MAX))
SIM_CALL(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream),
         copy_2d(copy, stream, COPY_ASYNCHRONOUS, DEVICE_MAX_PITCH))

static CUresult copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, enum copy_manner manner)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!p || p->srcLOD || p->dstLOD, CUDA_ERROR_INVALID_VALUE);
    struct side_request to = destination_of(p), from = source_of(p);
    struct copy_box box = {.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth};
    return copy_pitched_submit(&to, &from, &box, stream, manner);
}

SIM_DEFAULT_STREAM_API(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy),
                       copy_3d(copy, stream, COPY_SYNCHRONOUS))
SIM_CALL(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream),
         copy_3d(copy, stream, COPY_ASYNCHRONOUS))

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, enum copy_manner manner)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!p || p->srcLOD || p->dstLOD, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(copy_check_peers(p->dstContext, p->srcContext));
    if (manner == COPY_SYNCHRONOUS)
        SIM_TRY(copy_settle_peers(p->dstContext, p->srcContext));
    CUDA_MEMCPY3D plain; // laid out alike, but for the contexts
    _Static_assert(sizeof(plain) == sizeof(*p),
                   "copies between contexts have the layout of others");
    memcpy(&plain, p, sizeof(plain));
    SIM_TRY(copy_3d(&plain, stream, manner));
    return manner == COPY_SYNCHRONOUS ? copy_settle_peers(NULL, NULL) : CUDA_SUCCESS;
}

SIM_DEFAULT_STREAM_API(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *copy),
                       copy_3d_peer(copy, stream, COPY_SYNCHRONOUS))
SIM_CALL(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream),
         copy_3d_peer(copy, stream, COPY_ASYNCHRONOUS))
