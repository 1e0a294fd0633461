// SPDX-License-Identifier: BSD-3-Clause
// Which descriptors arrays may have, and how the memory of one is laid out.
#include <string.h>

#include "sim/array/array_storage.h"

#define PART_ALIGNMENT ((size_t)512)
#define LAYERED CUDA_ARRAY3D_LAYERED
#define CUBEMAP CUDA_ARRAY3D_CUBEMAP
#define SURFACE CUDA_ARRAY3D_SURFACE_LDST
#define GATHER CUDA_ARRAY3D_TEXTURE_GATHER
#define FLAGS_MAX (CUDA_ARRAY3D_VIDEO_ENCODE_DECODE | (CUDA_ARRAY3D_VIDEO_ENCODE_DECODE - 1))

// The most that each kind of array may have in each direction; device_attributes.c says the same to programs.
static bool size_is_possible(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool surface = d->Flags & SURFACE;
    if (d->Flags & CUBEMAP)
        return d->Width <= 32768 && d->Width == d->Height &&
               (d->Flags & LAYERED ? d->Depth && d->Depth % 6 == 0 && d->Depth <= 2046
                                   : d->Depth == 6);
    if (d->Flags & LAYERED)
        return d->Width <= 32768 && d->Height <= 32768 && d->Depth && d->Depth <= 2048;
    if (d->Depth)
        return d->Width <= 16384 && d->Height && d->Height <= 16384 && d->Depth <= 16384;
    if (d->Flags & GATHER)
        return d->Width <= 32768 && d->Height && d->Height <= 32768;
    if (d->Height)
        return d->Width <= 131072 && d->Height <= 65536;
    return d->Width <= (surface ? 32768 : 131072);
}

static bool flags_fit(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool flat = d->Height && !d->Depth;
    if (d->Flags & ~FLAGS_MAX)
        return false;
    if (d->Flags & GATHER && (!flat || d->Flags & (LAYERED | CUBEMAP)))
        return false;
    return !(d->Flags & CUDA_ARRAY3D_SPARSE && d->Flags & CUDA_ARRAY3D_DEFERRED_MAPPING);
}

static size_t smaller(size_t extent, unsigned level)
{
    extent >>= level;
    return extent ? extent : 1;
}

unsigned array_levels_max(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool deep = d->Depth && !(d->Flags & (LAYERED | CUBEMAP));
    size_t longest = d->Width > d->Height ? d->Width : d->Height;
    unsigned levels = 1;
    if (deep && d->Depth > longest)
        longest = d->Depth;
    while (longest >>= 1)
        levels++;
    return levels;
}

// Fills in what follows from the part's extent and element; the bytes of it.
static size_t measure(struct array_part *part)
{
    size_t block = part->element.block;
    part->rows = (part->height + block - 1) / block;
    part->row_bytes = (part->width + block - 1) / block * part->element.bytes;
    part->slice_bytes = part->rows * part->row_bytes;
    return array_slices(part) * part->slice_bytes;
}

static void append(struct array_storage *out, const struct array_part *part)
{
    struct array_part *placed = &out->parts[out->part_count++];
    *placed = *part;
    placed->offset = (out->size + PART_ALIGNMENT - 1) & ~(PART_ALIGNMENT - 1);
    out->size = placed->offset + measure(placed);
}

static struct array_part part_at_level(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
    bool layered = d->Flags & (LAYERED | CUBEMAP);
    return (struct array_part){
        .width = smaller(d->Width, level),
        .height = d->Height ? smaller(d->Height, level) : 1,
        .depth = d->Depth && !layered ? smaller(d->Depth, level) : 1,
        .layers = layered ? d->Depth : 1,
        .format = d->Format,
        .channels = d->NumChannels,
    };
}

static CUresult lay_planes(const CUDA_ARRAY3D_DESCRIPTOR *d, const struct array_plane *planes,
                           unsigned count, struct array_storage *out)
{
    for (unsigned i = 0; i < count; i++) {
        struct array_part part = part_at_level(d, 0);
        SIM_RETURN_IF(!d->Height || part.width % planes[i].across || part.height % planes[i].down,
                      CUDA_ERROR_INVALID_VALUE);
        part.width /= planes[i].across;
        part.height /= planes[i].down;
        part.format = planes[i].format;
        part.channels = planes[i].channels;
        array_element_find(part.format, part.channels, &part.element);
        append(out, &part);
    }
    return CUDA_SUCCESS;
}

CUresult array_lay_out(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels, struct array_storage *out)
{
    struct array_plane planes[ARRAY_PLANES_MAX];
    struct array_element element;
    unsigned plane_count = array_planes_find(d->Format, d->NumChannels, planes);
    SIM_RETURN_IF(!d->Width || !flags_fit(d) || !size_is_possible(d), CUDA_ERROR_INVALID_VALUE);
    memset(out, 0, sizeof(*out));
    out->descriptor = *d;
    if (plane_count)
        return levels == 1 ? lay_planes(d, planes, plane_count, out) : CUDA_ERROR_INVALID_VALUE;
    SIM_RETURN_IF(!array_element_find(d->Format, d->NumChannels, &element),
                  CUDA_ERROR_INVALID_VALUE);
    for (unsigned level = 0; level < levels; level++) {
        struct array_part part = part_at_level(d, level);
        part.element = element;
        append(out, &part);
    }
    return CUDA_SUCCESS;
}
