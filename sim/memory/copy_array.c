// SPDX-License-Identifier: BSD-3-Clause
// Implements copies from and to arrays: the addresses of their sides, and the calls that copy a run
// of bytes within the first row.
#include "sim/memory/copy_array.h"

#include "sim/array/array_storage.h"

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

CUresult array_side(CUarray handle, size_t x, size_t y, size_t z, const struct copy_box *box,
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
