// SPDX-License-Identifier: BSD-3-Clause
// Finds the bytes of a position on a surface, and applies the boundary mode.
#include "sim/texture/texture.h"

unsigned geometry_coordinates(enum texture_geometry geometry)
{
    switch (geometry) {
    case GEOMETRY_1D:
    case GEOMETRY_A1D: return 1;
    case GEOMETRY_2D:
    case GEOMETRY_A2D: return 2;
    case GEOMETRY_3D:
    case GEOMETRY_CUBE:
    case GEOMETRY_ACUBE: break;
    }
    return 3;
}

// Brings a coordinate into 0 to limit - 1. Returns false if it stays outside.
static bool bring_in(int64_t *at, int64_t limit, enum surface_boundary boundary)
{
    bool inside = *at >= 0 && *at < limit;

    if (!inside && boundary == BOUNDARY_CLAMP)
        *at = *at < 0 ? 0 : limit - 1;
    return inside || boundary == BOUNDARY_CLAMP;
}

bool surface_find(const struct surface *s, const struct surface_place *place,
                  enum surface_boundary boundary, bool x_in_bytes, unsigned bytes, char **out)
{
    unsigned n = geometry_coordinates(place->geometry);
    int64_t unit = x_in_bytes ? bytes : 1, row = (int64_t)s->width * texel_bytes(&s->texel);
    int64_t x = place->at[0] / unit, y = n > 1 ? place->at[1] : 0, z = n > 2 ? place->at[2] : 0;
    bool inside;

    if (place->at[0] < 0)
        x = -1;
    *out = NULL;
    inside = bring_in(&x, x_in_bytes ? row / unit : s->width, boundary);
    inside = bring_in(&y, s->height, boundary) && inside;
    if (geometry_is_layered(place->geometry)) {
        z = place->layer > INT32_MAX ? INT32_MAX : place->layer;
        inside = bring_in(&z, s->layers, boundary) && inside;
    } else {
        inside = bring_in(&z, s->depth, boundary) && inside;
    }
    if (!inside)
        return boundary != BOUNDARY_TRAP;
    *out = s->base + (size_t)z * s->slice_bytes + (size_t)y * s->row_bytes +
           (size_t)x * (x_in_bytes ? bytes : texel_bytes(&s->texel));
    return true;
}

// Returns cl_channel_type and cl_channel_order numbers, as in PTX.
static uint32_t data_type(const struct texel_kind *kind)
{
    static const uint32_t narrow[] = {0x10DA, 0x10D7, 0x10D2, 0x10D0, 0};
    static const uint32_t medium[] = {0x10DB, 0x10D8, 0x10D3, 0x10D1, 0x10DD};
    static const uint32_t wide[] = {0x10DC, 0x10D9, 0, 0, 0x10DE};

    return kind->channel_bytes == 1   ? narrow[kind->kind]
           : kind->channel_bytes == 2 ? medium[kind->kind]
                                      : wide[kind->kind];
}

static uint32_t channel_order(const struct texel_kind *kind)
{
    static const uint32_t orders[] = {0, 0x10B0, 0x10B2, 0, 0x10B5};

    return orders[kind->channels];
}

uint32_t surface_answer(const struct surface *s, enum image_question question)
{
    switch (question) {
    case ASK_WIDTH: return s->width;
    case ASK_HEIGHT: return s->dimension > 1 ? s->height : s->layered ? s->layers : 0;
    case ASK_DEPTH:
        return s->dimension > 2 ? s->depth : s->dimension > 1 && s->layered ? s->layers : 0;
    case ASK_DATA_TYPE: return data_type(&s->texel);
    case ASK_ORDER: return channel_order(&s->texel);
    case ASK_LAYERS: return s->layers;
    case ASK_NORMALIZED:
    case ASK_LEVELS:
    case ASK_SAMPLES:
    case ASK_IS_TEXTURE:
    case ASK_IS_SURFACE:
    case ASK_IS_SAMPLER: break;
    }
    return 0;
}

uint32_t texture_answer(const struct texture *t, enum image_question question, unsigned level)
{
    const struct texture_level *l = &t->levels[level < t->level_count ? level : 0];
    bool there = level < t->level_count;

    switch (question) {
    case ASK_WIDTH: return there ? l->width : 0;
    case ASK_HEIGHT: return !there ? 0 : t->dimension == 1 && t->layered ? t->layers : l->height;
    case ASK_DEPTH:
        return !there                                        ? 0
               : t->dimension == 3                           ? l->depth
               : t->dimension == 2 && t->layered && !t->cube ? t->layers
                                                             : 0;
    case ASK_DATA_TYPE: return data_type(&t->texel);
    case ASK_ORDER: return channel_order(&t->texel);
    case ASK_NORMALIZED: return t->normalized;
    case ASK_LAYERS: return t->layers;
    case ASK_LEVELS: return t->level_count;
    case ASK_SAMPLES: return 1;
    case ASK_IS_TEXTURE:
    case ASK_IS_SURFACE:
    case ASK_IS_SAMPLER: break;
    }
    return 0;
}
