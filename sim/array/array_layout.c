// SPDX-License-Identifier: BSD-3-Clause
// Checks the descriptors of arrays and lays out their memory.
#include <string.h>

#include "sim/array/array_storage.h"

#define PART_ALIGNMENT ((size_t)512)
#define LAYERED CUDA_ARRAY3D_LAYERED
#define CUBEMAP CUDA_ARRAY3D_CUBEMAP
#define SURFACE CUDA_ARRAY3D_SURFACE_LDST
#define GATHER CUDA_ARRAY3D_TEXTURE_GATHER
#define SPARSE CUDA_ARRAY3D_SPARSE
#define DEFERRED CUDA_ARRAY3D_DEFERRED_MAPPING
#define FLAGS \
    (LAYERED | CUBEMAP | SURFACE | GATHER | SPARSE | DEFERRED | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE)

static bool deep_is_possible(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool usual = d->Width <= 16384 && d->Height <= 16384 && d->Depth <= 16384;
    bool longer = d->Width <= 8192 && d->Height <= 8192 && d->Depth <= 32768;
    return d->Height && (usual || (longer && !(d->Flags & SURFACE)));
}

// Checks the largest sizes of each kind of array; device_attributes.c reports the same limits.
static bool size_is_possible(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (d->Flags & CUBEMAP)
        return d->Width <= 32768 && d->Width == d->Height &&
               (d->Flags & LAYERED ? d->Depth && d->Depth % 6 == 0 && d->Depth <= 2046
                                   : d->Depth == 6);
    if (d->Flags & LAYERED)
        return d->Width <= 32768 && d->Height <= 32768 && d->Depth && d->Depth <= 2048;
    if (d->Depth)
        return deep_is_possible(d);
    if (d->Flags & GATHER)
        return d->Width <= 32768 && d->Height <= 32768;
    if (d->Height)
        return d->Width <= 131072 && d->Height <= 65536;
    return d->Width <= (d->Flags & SURFACE ? 32768 : 131072);
}

// Limits the width and height of arrays with levels.
static bool levels_are_possible(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    return !levels || (d->Width <= 32768 && d->Height <= 32768);
}

static bool flags_fit(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (d->Flags & ~(unsigned)FLAGS)
        return false;
    if (d->Flags & GATHER && (!d->Height || d->Depth || d->Flags & (LAYERED | CUBEMAP)))
        return false;
    return !(d->Flags & SPARSE && (!d->Height || d->Flags & (SURFACE | CUBEMAP | DEFERRED)));
}

// Computes the part's layout from its extent and element. Returns its size in bytes.
static size_t array_layout_measure(struct array_part *part)
{
    size_t block = part->element.block;
    part->rows = (part->height + block - 1) / block;
    part->row_bytes = (part->width + block - 1) / block * part->element.bytes;
    part->slice_bytes = part->rows * part->row_bytes;
    return array_slices(part) * part->slice_bytes;
}

static void array_layout_append(struct array_storage *out, const CUDA_ARRAY3D_DESCRIPTOR *level,
                                struct array_element element)
{
    struct array_part *part = &out->parts[out->part_count++];
    bool layered = array_is_layered(level);
    *part = (struct array_part){
        .offset = (out->size + PART_ALIGNMENT - 1) & ~(PART_ALIGNMENT - 1),
        .width = level->Width,
        .height = level->Height ? level->Height : 1,
        .depth = level->Depth && !layered ? level->Depth : 1,
        .layers = layered ? level->Depth : 1,
        .element = element,
    };
    out->size = part->offset + array_layout_measure(part);
}

CUresult array_lay_out(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels, struct array_storage *out)
{
    struct array_element element;
    unsigned most = array_levels_max(d), count = levels > most ? most : levels ? levels : 1;
    SIM_RETURN_IF(!d->Width || !flags_fit(d) || !size_is_possible(d) ||
                      !levels_are_possible(d, levels) ||
                      !array_element_find(d->Format, d->NumChannels, &element),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(element.block > 1 && !d->Height, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(element.block > 1 && d->Flags & SURFACE, CUDA_ERROR_NOT_SUPPORTED);
    memset(out, 0, sizeof(*out));
    out->descriptor = *d;
    for (unsigned i = 0; i < count; i++) {
        CUDA_ARRAY3D_DESCRIPTOR level = array_level(d, i);
        array_layout_append(out, &level, element);
    }
    return CUDA_SUCCESS;
}
