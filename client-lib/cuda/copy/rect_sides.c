// SPDX-License-Identifier: BSD-3-Clause
// Resolves and checks the sides of rectangles.
#include "client-lib/cuda/copy/rect_sides.h"

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/memory/arrays.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/thread.h"

static bool rect_sides_multiply(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

// Returns true if the GPU has the memory; *ADDRESS becomes its address there. *SEEN: the program
// can read the memory as well (managed or mirrored memory).
static bool on_device(CUmemorytype type, uint64_t *address, bool *seen)
{
    struct allocation found;
    uint64_t there = *address;
    *seen = false;
    if (type == CU_MEMORYTYPE_DEVICE && !before_work_duties())
        return true;
    bool on_gpu = memory_on_gpu(&there, &found);
    *seen = on_gpu && (found.managed || found.mirrored);
    if (type == CU_MEMORYTYPE_DEVICE)
        return true;
    // The program may name managed or mirrored memory as its own.
    if (!on_gpu || (type != CU_MEMORYTYPE_UNIFIED && !*seen))
        return false;
    *address = there;
    return true;
}

static CUresult array_side(const struct corner *corner, const struct rect_copy *copy,
                           struct side *side)
{
    const size_t at[3] = {corner->x, corner->y, corner->z};
    const size_t extent[3] = {copy->width, copy->height, copy->depth};
    struct object *array, *context;
    CUresult result = array_holds(corner->array, at, extent, &array);
    if (result == CUDA_SUCCESS)
        result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    *side = (struct side){
        .device = true, .array = corner->array, .x = corner->x, .y = corner->y, .z = corner->z};
    return array->session == context->session ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult rect_side(const struct corner *corner, const struct rect_copy *copy, struct side *side)
{
    if (corner->type == CU_MEMORYTYPE_ARRAY)
        return array_side(corner, copy, side);
    side->array = NULL;
    side->seen = false;
    if (corner->type != CU_MEMORYTYPE_HOST && corner->type != CU_MEMORYTYPE_DEVICE &&
        corner->type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t base = corner->type == CU_MEMORYTYPE_HOST ? (uintptr_t)corner->host : corner->device;
    size_t offset, planes;
    side->pitch = corner->pitch ? corner->pitch : corner->x + copy->width;
    size_t rows = corner->height ? corner->height : corner->y + copy->height;
    if (!base || side->pitch < copy->width || rows < copy->height ||
        !rect_sides_multiply(side->pitch, rows, &side->slice) ||
        !rect_sides_multiply(side->slice, corner->z, &planes) ||
        !rect_sides_multiply(side->pitch, corner->y, &offset))
        return CUDA_ERROR_INVALID_VALUE;
    side->device = on_device(corner->type, &base, &side->seen);
    side->address = base + planes + offset + corner->x;
    return CUDA_SUCCESS;
}

size_t rect_extent(const struct side *side, const struct rect_copy *copy)
{
    return (copy->depth - 1) * side->slice + (copy->height - 1) * side->pitch + copy->width;
}

CUresult rect_check_side(const struct side *side, const struct rect_copy *copy)
{
    struct allocation found;
    if (!side->device || side->array)
        return CUDA_SUCCESS;
    return memory_find_span(side->address, rect_extent(side, copy), &found)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUDA_MEMCPY3D rect_request(const struct rect_copy *copy)
{
    CUDA_MEMCPY3D request = {
        .srcMemoryType = copy->from.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstMemoryType = copy->to.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .srcPitch = copy->from.pitch,
        .dstPitch = copy->to.pitch,
        .srcHeight = copy->from.pitch ? copy->from.slice / copy->from.pitch : 0,
        .dstHeight = copy->to.pitch ? copy->to.slice / copy->to.pitch : 0,
        .WidthInBytes = copy->width,
        .Height = copy->height,
        .Depth = copy->depth,
    };
    if (copy->from.array) {
        request.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        request.srcArray = copy->from.array;
        request.srcXInBytes = copy->from.x;
        request.srcY = copy->from.y;
        request.srcZ = copy->from.z;
    } else if (copy->from.device) {
        request.srcDevice = copy->from.address;
    } else {
        request.srcHost = (const void *)(uintptr_t)copy->from.address;
    }
    if (copy->to.array) {
        request.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        request.dstArray = copy->to.array;
        request.dstXInBytes = copy->to.x;
        request.dstY = copy->to.y;
        request.dstZ = copy->to.z;
    } else if (copy->to.device) {
        request.dstDevice = copy->to.address;
    } else {
        request.dstHost = (void *)(uintptr_t)copy->to.address;
    }
    return request;
}

CUresult rect_check_sides(struct rect_copy *copy, const struct corner *from,
                          const struct corner *to)
{
    CUresult result;
    if ((result = rect_side(from, copy, &copy->from)) != CUDA_SUCCESS ||
        (result = rect_side(to, copy, &copy->to)) != CUDA_SUCCESS ||
        (result = rect_check_side(&copy->from, copy)) != CUDA_SUCCESS)
        return result;
    return rect_check_side(&copy->to, copy);
}

void rect_read_corners(const CUDA_MEMCPY3D *c, struct corner *from, struct corner *to)
{
    *from = (struct corner){c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes,
                            c->srcY,          c->srcZ,    c->srcPitch,  c->srcHeight};
    *to = (struct corner){c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes,
                          c->dstY,          c->dstZ,    c->dstPitch,  c->dstHeight};
}

CUresult rect_read(const CUDA_MEMCPY3D *program, struct rect_copy *copy)
{
    struct corner from, to;
    rect_read_corners(program, &from, &to);
    *copy = (struct rect_copy){.width = program->WidthInBytes,
                               .height = program->Height,
                               .depth = program->Depth};
    if (!copy->width || !copy->height || !copy->depth)
        return CUDA_ERROR_INVALID_VALUE;
    return rect_check_sides(copy, &from, &to);
}
