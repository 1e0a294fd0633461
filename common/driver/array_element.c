// SPDX-License-Identifier: BSD-3-Clause
#include "common/driver/array_element.h"

#include <stddef.h>

// Table of the formats of arrays.
static unsigned channel_bytes(CUarray_format format)
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

// Formats that say how many channels they have.
static const struct whole_format {
    CUarray_format format;
    unsigned channels, bytes, block;
} whole_formats[] = {
    {CU_AD_FORMAT_UNORM_INT8X1, 1, 1, 1},       {CU_AD_FORMAT_UNORM_INT8X2, 2, 2, 1},
    {CU_AD_FORMAT_UNORM_INT8X4, 4, 4, 1},       {CU_AD_FORMAT_UNORM_INT16X1, 1, 2, 1},
    {CU_AD_FORMAT_UNORM_INT16X2, 2, 4, 1},      {CU_AD_FORMAT_UNORM_INT16X4, 4, 8, 1},
    {CU_AD_FORMAT_SNORM_INT8X1, 1, 1, 1},       {CU_AD_FORMAT_SNORM_INT8X2, 2, 2, 1},
    {CU_AD_FORMAT_SNORM_INT8X4, 4, 4, 1},       {CU_AD_FORMAT_SNORM_INT16X1, 1, 2, 1},
    {CU_AD_FORMAT_SNORM_INT16X2, 2, 4, 1},      {CU_AD_FORMAT_SNORM_INT16X4, 4, 8, 1},
    {CU_AD_FORMAT_UNORM_INT_101010_2, 4, 4, 1}, {CU_AD_FORMAT_BC1_UNORM, 4, 8, 4},
    {CU_AD_FORMAT_BC1_UNORM_SRGB, 4, 8, 4},     {CU_AD_FORMAT_BC2_UNORM, 4, 16, 4},
    {CU_AD_FORMAT_BC2_UNORM_SRGB, 4, 16, 4},    {CU_AD_FORMAT_BC3_UNORM, 4, 16, 4},
    {CU_AD_FORMAT_BC3_UNORM_SRGB, 4, 16, 4},    {CU_AD_FORMAT_BC4_UNORM, 1, 8, 4},
    {CU_AD_FORMAT_BC4_SNORM, 1, 8, 4},          {CU_AD_FORMAT_BC5_UNORM, 2, 16, 4},
    {CU_AD_FORMAT_BC5_SNORM, 2, 16, 4},         {CU_AD_FORMAT_BC6H_UF16, 3, 16, 4},
    {CU_AD_FORMAT_BC6H_SF16, 3, 16, 4},         {CU_AD_FORMAT_BC7_UNORM, 4, 16, 4},
    {CU_AD_FORMAT_BC7_UNORM_SRGB, 4, 16, 4},
};

bool array_element_find(CUarray_format format, unsigned channels, struct array_element *out)
{
    unsigned bytes = channel_bytes(format);
    if (bytes) {
        *out = (struct array_element){bytes * channels, 1};
        return channels == 1 || channels == 2 || channels == 4;
    }
    for (size_t i = 0; i < sizeof(whole_formats) / sizeof(*whole_formats); i++) {
        const struct whole_format *whole = &whole_formats[i];
        if (whole->format == format && whole->channels == channels) {
            *out = (struct array_element){whole->bytes, whole->block};
            return true;
        }
    }
    return false;
}

unsigned array_levels_max(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    size_t longest = d->Width > d->Height ? d->Width : d->Height;
    unsigned levels = 1;
    if (!array_is_layered(d) && d->Depth > longest)
        longest = d->Depth;
    while (longest >>= 1)
        levels++;
    return levels;
}

// A dimension that is not there stays so.
static size_t halved(size_t extent, unsigned times)
{
    return extent && !(extent >> times) ? 1 : extent >> times;
}

CUDA_ARRAY3D_DESCRIPTOR array_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned level)
{
    CUDA_ARRAY3D_DESCRIPTOR d = *descriptor;
    d.Width = halved(d.Width, level);
    d.Height = halved(d.Height, level);
    if (!array_is_layered(&d))
        d.Depth = halved(d.Depth, level);
    return d;
}
