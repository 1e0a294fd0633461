// SPDX-License-Identifier: BSD-3-Clause
// Implements texture objects. Checks descriptors as the driver does, and converts them to levels, a
// texel kind and sampling settings.
#include "sim/image/image_object.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/memory.h"

#define ANISOTROPY_MAX 16
#define LINEAR_ALIGNMENT 512
#define PITCH_ALIGNMENT 32
#define LINEAR_TEXELS_MAX (1u << 28)
#define PITCHED_WIDTH_MAX 131072
#define PITCHED_HEIGHT_MAX 65000
#define FLAGS_KNOWN 0x3Fu

static void texture_object_free(struct sim_object *object)
{
    struct texture_object *t = (struct texture_object *)object;

    if (t->storage)
        array_storage_put(t->storage);
    free(t);
}

static bool plain_kind(CUarray_format format, bool as_integer, struct texel_kind *out)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: out->channel_bytes = 1; break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: out->channel_bytes = 2; break;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: out->channel_bytes = 4; break;
    default: return false;
    }
    as_integer |= out->channel_bytes == 4;
    if (format & (CU_AD_FORMAT_HALF | CU_AD_FORMAT_FLOAT))
        out->kind = CHANNEL_FLOAT;
    else if (format & 8)
        out->kind = as_integer ? CHANNEL_SIGNED : CHANNEL_SNORM;
    else
        out->kind = as_integer ? CHANNEL_UNSIGNED : CHANNEL_UNORM;
    return true;
}

// Reads the texel kind of a normalized integer format, which itself states its number of channels.
static bool normalized_kind(CUarray_format format, unsigned channels, struct texel_kind *out)
{
    unsigned index = (unsigned)format - CU_AD_FORMAT_UNORM_INT8X1;

    if (index > CU_AD_FORMAT_SNORM_INT16X4 - CU_AD_FORMAT_UNORM_INT8X1)
        return false;
    out->kind = index < 6 ? CHANNEL_UNORM : CHANNEL_SNORM;
    out->channel_bytes = index / 3 % 2 ? 2 : 1;
    return channels == 1u << index % 3;
}

bool image_texel_kind(CUarray_format format, unsigned channels, bool as_integer,
                      struct texel_kind *out)
{
    *out = (struct texel_kind){.channels = channels};
    if (channels != 1 && channels != 2 && channels != 4)
        return false;
    return plain_kind(format, as_integer, out) || normalized_kind(format, channels, out);
}

// Rejects flag bits that the driver does not know. Only cubes may be seamless.
static CUresult check_sampler(const CUDA_TEXTURE_DESC *s, const struct texture *t)
{
    unsigned known = FLAGS_KNOWN | (t->cube ? CU_TRSF_SEAMLESS_CUBEMAP : 0);

    for (unsigned i = 0; i < (t->dimension < 2 ? 2 : t->dimension); i++)
        SIM_RETURN_IF((unsigned)s->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER,
                      CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF((unsigned)s->filterMode > CU_TR_FILTER_MODE_LINEAR, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF((unsigned)s->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(s->flags & ~known, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < sizeof(s->reserved) / sizeof(s->reserved[0]); i++)
        SIM_RETURN_IF(s->reserved[i], CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static void use_sampler(struct texture *t, const CUDA_TEXTURE_DESC *s)
{
    for (unsigned i = 0; i < 3; i++)
        t->modes[i] = (enum address_mode)s->addressMode[i];
    t->linear = s->filterMode == CU_TR_FILTER_MODE_LINEAR;
    t->level_linear = s->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    t->normalized = t->cube || s->flags & CU_TRSF_NORMALIZED_COORDINATES;
    t->seamless = s->flags & CU_TRSF_SEAMLESS_CUBEMAP;
    t->texel.srgb = s->flags & CU_TRSF_SRGB;
    t->anisotropy = s->maxAnisotropy < 1                ? 1
                    : s->maxAnisotropy > ANISOTROPY_MAX ? ANISOTROPY_MAX
                                                        : s->maxAnisotropy;
    t->level_bias = truncf(s->mipmapLevelBias * 256) / 256;
    t->level_least = s->minMipmapLevelClamp;
    t->level_most = s->maxMipmapLevelClamp;
    memcpy(t->border, s->borderColor, sizeof(t->border));
}

static CUresult use_texels(struct texture_object *o, CUarray_format format, unsigned channels)
{
    bool as_integer = o->sampler.flags & CU_TRSF_READ_AS_INTEGER;

    SIM_RETURN_IF(!image_texel_kind(format, channels, as_integer, &o->texture.texel),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static struct texture_level level_of_part(const struct array_storage *storage,
                                          const struct array_part *part, unsigned first_layer)
{
    return (struct texture_level){
        .base = (const char *)(uintptr_t)storage->base + part->offset +
                first_layer * part->slice_bytes,
        .width = (unsigned)part->width,
        .height = (unsigned)part->height,
        .depth = (unsigned)part->depth,
        .row_bytes = part->row_bytes,
        .slice_bytes = part->slice_bytes,
    };
}

static void use_shape(struct texture *t, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned layers)
{
    t->cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    t->layered = d->Flags & CUDA_ARRAY3D_LAYERED;
    t->dimension = t->cube ? 2 : d->Depth && !t->layered ? 3 : d->Height ? 2 : 1;
    t->layers = t->cube ? layers / 6 : layers;
}

// Converts a view's format to its texel kind. Returns false for block formats.
static bool view_kind(CUresourceViewFormat format, struct texel_kind *out)
{
    static const struct {
        CUarray_format format;
        unsigned first;
    } groups[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1},   {CU_AD_FORMAT_SIGNED_INT8, 4},
                  {CU_AD_FORMAT_UNSIGNED_INT16, 7},  {CU_AD_FORMAT_SIGNED_INT16, 10},
                  {CU_AD_FORMAT_UNSIGNED_INT32, 13}, {CU_AD_FORMAT_SIGNED_INT32, 16},
                  {CU_AD_FORMAT_HALF, 19},           {CU_AD_FORMAT_FLOAT, 22}};
    unsigned index = (unsigned)format - 1;

    if (index >= 24)
        return false;
    return image_texel_kind(groups[index / 3].format, 1u << index % 3, false, out);
}

static unsigned texture_object_at_most(unsigned value, unsigned most)
{
    return value < most ? value : most;
}

// A view selects levels and layers that exist, and may interpret texels as another kind of the same
// size.
static CUresult use_view(struct texture_object *o, const CUDA_ARRAY3D_DESCRIPTOR *d,
                         const CUDA_RESOURCE_VIEW_DESC *v, unsigned *first_level, unsigned *levels,
                         unsigned *first_layer, unsigned *layers)
{
    struct texel_kind kind;

    for (unsigned i = 0; i < sizeof(v->reserved) / sizeof(v->reserved[0]); i++)
        SIM_RETURN_IF(v->reserved[i], CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(v->lastMipmapLevel < v->firstMipmapLevel || v->firstMipmapLevel >= *levels,
                  CUDA_ERROR_INVALID_VALUE);
    *first_level = v->firstMipmapLevel;
    *levels = texture_object_at_most(v->lastMipmapLevel, *levels - 1) - v->firstMipmapLevel + 1;
    if (o->texture.layered) {
        SIM_RETURN_IF(v->lastLayer < v->firstLayer || v->firstLayer >= *layers,
                      CUDA_ERROR_INVALID_VALUE);
        *first_layer = v->firstLayer;
        *layers = texture_object_at_most(v->lastLayer, *layers - 1) - v->firstLayer + 1;
        SIM_RETURN_IF(o->texture.cube && (*first_layer % 6 || *layers % 6),
                      CUDA_ERROR_INVALID_VALUE); // only whole cubes
    }
    SIM_RETURN_IF(v->format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7, CUDA_ERROR_INVALID_VALUE);
    // Compressed blocks are not decoded.
    SIM_RETURN_IF(v->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1, CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(!view_kind(v->format, &kind), CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(v->width != d->Width || v->height != d->Height || v->depth != d->Depth,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(texel_bytes(&kind) != texel_bytes(&o->texture.texel), CUDA_ERROR_INVALID_VALUE);
    o->texture.texel = kind;
    return CUDA_SUCCESS;
}

static CUresult use_array(struct texture_object *o, struct array_storage *storage, unsigned part,
                          unsigned parts, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    const struct array_part *first = &storage->parts[part];
    unsigned first_level = 0, first_layer = 0, layers = (unsigned)first->layers;
    struct texture *t = &o->texture;

    array_storage_hold(storage);
    o->storage = storage;
    SIM_RETURN_IF(!storage->base, CUDA_ERROR_INVALID_VALUE); // no memory is mapped yet
    SIM_RETURN_IF(first->element.block > 1, CUDA_ERROR_NOT_SUPPORTED);
    SIM_TRY(use_texels(o, d->Format, d->NumChannels));
    use_shape(t, d, layers);
    if (o->viewed)
        SIM_TRY(use_view(o, d, &o->view, &first_level, &parts, &first_layer, &layers));
    use_shape(t, d, layers);
    for (unsigned i = 0; i < parts; i++)
        t->levels[i] = level_of_part(storage, &storage->parts[part + first_level + i], first_layer);
    t->level_count = parts;
    return CUDA_SUCCESS;
}

static CUresult use_linear(struct texture_object *o)
{
    const CUDA_RESOURCE_DESC *r = &o->resource;
    struct texture *t = &o->texture;
    unsigned bytes;

    SIM_RETURN_IF(r->res.linear.format >= CU_AD_FORMAT_UNORM_INT8X1, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(use_texels(o, r->res.linear.format, r->res.linear.numChannels));
    bytes = texel_bytes(&t->texel);
    o->base = r->res.linear.devPtr;
    o->size = r->res.linear.sizeInBytes;
    SIM_RETURN_IF(!o->base || o->base % LINEAR_ALIGNMENT, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(o->size / bytes > LINEAR_TEXELS_MAX, CUDA_ERROR_INVALID_VALUE);
    t->linear_memory = true;
    t->dimension = 1;
    t->layers = t->level_count = 1;
    t->levels[0] = (struct texture_level){.base = (const char *)(uintptr_t)o->base,
                                          .width = (unsigned)(o->size / bytes),
                                          .height = 1,
                                          .depth = 1};
    return CUDA_SUCCESS;
}

static CUresult use_pitched(struct texture_object *o)
{
    const CUDA_RESOURCE_DESC *r = &o->resource;
    size_t width = r->res.pitch2D.width, height = r->res.pitch2D.height,
           pitch = r->res.pitch2D.pitchInBytes;
    struct texture *t = &o->texture;

    SIM_TRY(use_texels(o, r->res.pitch2D.format, r->res.pitch2D.numChannels));
    o->base = r->res.pitch2D.devPtr;
    SIM_RETURN_IF(!o->base || o->base % LINEAR_ALIGNMENT, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(width > PITCHED_WIDTH_MAX || height > PITCHED_HEIGHT_MAX,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(pitch % PITCH_ALIGNMENT || pitch < width * texel_bytes(&t->texel),
                  CUDA_ERROR_INVALID_VALUE);
    width += !width; // width of a texture without texels
    height += !height;
    o->size = (height - 1) * pitch + width * texel_bytes(&t->texel);
    t->dimension = 2;
    t->layers = t->level_count = 1;
    t->levels[0] = (struct texture_level){.base = (const char *)(uintptr_t)o->base,
                                          .width = (unsigned)width,
                                          .height = (unsigned)height,
                                          .depth = 1,
                                          .row_bytes = pitch};
    return CUDA_SUCCESS;
}

static CUresult use_resource(struct texture_object *o)
{
    struct sim_array *array;
    struct sim_mipmap *mipmap;
    CUresult result;

    switch (o->resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        SIM_RETURN_IF(!o->resource.res.array.hArray, CUDA_ERROR_INVALID_VALUE);
        SIM_TRY(array_get(o->resource.res.array.hArray, &array));
        result = use_array(o, array->storage, array->part, 1, &array->descriptor);
        object_put(&array->object);
        return result;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        SIM_TRY(mipmap_get(o->resource.res.mipmap.hMipmappedArray, &mipmap));
        result = use_array(o, mipmap->storage, 0, mipmap->storage->part_count,
                           &mipmap->storage->descriptor);
        object_put(&mipmap->object);
        return result;
    case CU_RESOURCE_TYPE_LINEAR: return use_linear(o);
    case CU_RESOURCE_TYPE_PITCH2D: return use_pitched(o);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult texture_object_complete(struct texture_object *o)
{
    SIM_TRY(use_resource(o));
    SIM_TRY(check_sampler(&o->sampler, &o->texture));
    use_sampler(&o->texture, &o->sampler);
    return handle_publish(&o->object);
}

CUresult texture_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               const CUDA_TEXTURE_DESC *sampler,
                               const CUDA_RESOURCE_VIEW_DESC *view, CUtexObject *out)
{
    struct texture_object *o;
    CUresult result;

    SIM_RETURN_IF(resource->flags, CUDA_ERROR_INVALID_VALUE);
    o = calloc(1, sizeof(*o));
    SIM_RETURN_IF(!o, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&o->object, OBJECT_TEXTURE, context, texture_object_free);
    o->resource = *resource;
    o->sampler = *sampler;
    o->viewed = view;
    if (view)
        o->view = *view;
    result = texture_object_complete(o);
    if (result)
        object_put(&o->object);
    else
        *out = o->object.handle;
    return result;
}

struct texture_object *texture_object_get(CUtexObject handle)
{
    return handle_get(OBJECT_TEXTURE, (const void *)(uintptr_t)handle);
}
