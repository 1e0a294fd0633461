// SPDX-License-Identifier: BSD-3-Clause
// Reads a texture: selects levels, faces and layers, and sums the weighted texels around a
// position.
#include "sim/texture/footprint.h"

#include <math.h>
#include <string.h>

#include "sim/ptx/alu/small_float.h"

// One read of one level: the texels along each axis, and the slice or face.
struct level_read {
    const struct texture *texture;
    const struct texture_level *level;
    struct footprint_axis axes[3];
    unsigned slice; // layer, or the first face of the cube
    unsigned face;
    bool by_number; // integer coordinates; texels beyond the texture are zero
};

static void load_texel(const struct level_read *r, int32_t x, int32_t y, int32_t z, int32_t raw[4])
{
    const struct texture_level *l = r->level;

    if ((x < 0 || y < 0 || z < 0) && r->by_number) {
        memset(raw, 0, 4 * sizeof(*raw));
        return;
    }
    if (x < 0 || y < 0 || z < 0) {
        texel_border_raw(&r->texture->texel, r->texture->border, raw);
        return;
    }
    const struct texel_kind *kind = &r->texture->texel;
    const char *slice = l->base + (size_t)z * l->slice_bytes;
    texel_load_raw(kind, slice + (size_t)y * l->row_bytes + (size_t)x * texel_bytes(kind), raw);
}

// Loads a texel of the footprint; bit k of `which` selects the second texel along axis k. Returns
// false beyond the corner of a cube, where the caller mixes three others.
static bool load_which(const struct level_read *r, unsigned which, int32_t raw[4])
{
    const struct texture *t = r->texture;
    int32_t x = r->axes[0].index[which & 1], y = r->axes[1].index[which >> 1 & 1];
    unsigned face = r->face;

    if (t->dimension == 3) {
        load_texel(r, x, y, r->axes[2].index[which >> 2], raw);
        return true;
    }
    if (t->cube && t->seamless) {
        x = (int32_t)(which & 1 ? r->axes[0].high : r->axes[0].low);
        y = (int32_t)(which & 2 ? r->axes[1].high : r->axes[1].low);
        if (!cube_neighbour(&face, &x, &y, r->level->width))
            return false;
    }
    load_texel(r, x, y, (int32_t)(r->slice + face), raw);
    return true;
}

// Splits `total` 256ths between the second texel and the first one.
static void read_split(int32_t total, int32_t weight, int32_t *first, int32_t *second)
{
    *second = (total * weight + 128) >> 8;
    *first = total - *second;
}

// Splits weights along z, then x, then y, with rounding each time. The corners nearest to and
// farthest from the origin round up; the other two get the rest.
static void split_plane(int32_t total, int32_t x, int32_t y, int32_t weights[4])
{
    int32_t left, right;

    read_split(total, x, &left, &right);
    read_split(right, y, &weights[1], &weights[3]);
    read_split(left, 256 - y, &weights[2], &weights[0]);
}

// The texels that a read mixes, of one or two levels.
struct footprint {
    struct weighted_texel texels[16];
    unsigned count, parts;
    bool missing; // a corner of a cube
};

static void add_texel(const struct level_read *r, struct footprint *sum, unsigned which,
                      int32_t weight)
{
    struct weighted_texel *texel = &sum->texels[sum->count++];

    texel->weight = weight;
    texel->part = sum->parts;
    if (load_which(r, which, texel->raw))
        return;
    texel->weight = 0;
    sum->missing = true;
}

// At a corner of three faces, gives the missing texel's weight to its neighbours.
static void share_corner(struct weighted_texel texels[4], const int32_t weights[4])
{
    unsigned missing = 0;
    int32_t third;

    while (texels[missing].weight == weights[missing] && missing < 3)
        missing++;
    third = weights[missing] / 3;
    texels[missing ^ 1].weight += third;
    texels[missing ^ 2].weight += third;
    texels[missing ^ 3].weight += weights[missing] - 2 * third;
}

// Adds the four texels of a plane, which share `total` 256ths. `second` selects the plane of a
// volume.
static void add_plane(const struct level_read *r, struct footprint *sum, int32_t total,
                      unsigned second)
{
    struct weighted_texel *texels = &sum->texels[sum->count];
    int32_t weights[4];

    split_plane(total, r->axes[0].weight, r->axes[1].weight, weights);
    sum->missing = false;
    for (unsigned i = 0; i < 4; i++)
        add_texel(r, sum, second * 4 + i, weights[i]);
    sum->parts++;
    if (sum->missing)
        share_corner(texels, weights);
}

static void add_level(const struct level_read *r, struct footprint *sum, bool linear, int32_t total)
{
    int32_t first = total, second = 0;

    if (!linear) {
        add_texel(r, sum, 0, total);
        sum->parts++;
        return;
    }
    if (r->texture->dimension == 3)
        read_split(total, r->axes[2].weight, &first, &second);
    add_plane(r, sum, first, 0);
    if (second)
        add_plane(r, sum, second, 1);
}

// Computes the texels along each axis. A one-dimensional texture is a row at the edge of a plane,
// next to a border.
static void find_axes(struct level_read *r, const struct texture_sample *s, const float at[3],
                      bool linear)
{
    const struct texture *t = r->texture;
    const unsigned extents[3] = {r->level->width, r->level->height, r->level->depth};

    for (unsigned k = 0; k < 3; k++) {
        bool given = k < t->dimension;

        if (s->texels && s->access == TEXTURE_LEVEL && given)
            axis_texel(&r->axes[k], t, k, (int64_t)s->texel[k] + s->offset[k], extents[k]);
        else if (s->texels)
            axis_index(&r->axes[k], given ? (int64_t)s->texel[k] + s->offset[k] : 0, extents[k]);
        else if (linear && k < 2 && (given || !t->layered))
            axis_linear(&r->axes[k], t, k, given ? at[k] : 0, given ? extents[k] : 1,
                        given ? s->offset[k] : 0);
        else if (linear && given)
            axis_linear(&r->axes[k], t, k, at[k], extents[k], s->offset[k]);
        else if (given)
            axis_point(&r->axes[k], t, k, at[k], extents[k], s->offset[k]);
        else
            axis_index(&r->axes[k], 0, 1);
    }
}

static void read_gather(struct level_read *r, const struct texture_sample *s, const float at[3],
                        uint32_t value[4])
{
    static const unsigned order[4] = {2, 3, 1, 0};
    int32_t raw[4] = {0};
    uint32_t texel[4];

    r->level = &r->texture->levels[0];
    find_axes(r, s, at, true);
    for (unsigned i = 0; i < 4; i++) {
        load_which(r, order[i], raw);
        texel_words(&r->texture->texel, raw, texel);
        value[i] = texel[s->component];
    }
}

// Reads a position of the chosen levels.
static void read_levels(struct level_read *r, const struct texture_sample *s,
                        const struct level_choice *choice, const float at[3], uint32_t value[4])
{
    const struct texel_kind *kind = &r->texture->texel;
    bool linear = r->texture->linear && !s->texels;
    struct footprint sum = {.count = 0};

    r->level = &r->texture->levels[choice->level];
    find_axes(r, s, at, linear);
    add_level(r, &sum, linear, 256 - choice->weight);
    if (choice->weight) {
        r->level++;
        find_axes(r, s, at, linear);
        add_level(r, &sum, linear, choice->weight);
    }
    if (linear || choice->weight)
        texel_mix(kind, sum.texels, sum.count, sum.parts, value);
    else
        texel_words(kind, sum.texels[0].raw, value);
}

// Adds a weighted position some steps from the middle.
static void read_add_place(struct level_read *r, const struct texture_sample *s,
                           const struct level_choice *choice, const float at[3],
                           const float step[3], float steps, float weight, float sum[4])
{
    float place[3];
    uint32_t value[4];

    for (unsigned k = 0; k < 3; k++)
        place[k] = at[k] + step[k] * steps;
    read_levels(r, s, choice, place, value);
    for (unsigned i = 0; i < 4; i++)
        sum[i] += weight * bits_float(value[i]);
}

// Samples as an H100 does: pairs of positions on both sides of the middle, one step apart; the
// outermost get the remaining weight. Below a ratio of two, it samples one pair at a smaller
// distance.
static void read_along(struct level_read *r, const struct texture_sample *s,
                       const struct level_choice *choice, const float at[3],
                       const struct texture_stretch *stretch, uint32_t value[4])
{
    float sum[4] = {0}, left = stretch->ratio, from = 0.5f;

    if (left < 2) {
        from = 1 - 1 / left;
        left = 2;
    }
    for (float whole = left; left > 0; left -= 2, from += 1) {
        float weight = (left < 2 ? left / 2 : 1) / whole;
        read_add_place(r, s, choice, at, stretch->step, from, weight, sum);
        read_add_place(r, s, choice, at, stretch->step, -from, weight, sum);
    }
    for (unsigned i = 0; i < 4; i++)
        value[i] = float_bits(sum[i]);
}

static unsigned layer_of(const struct texture *t, uint32_t layer)
{
    if (!t->layered)
        return 0;
    return layer < t->layers ? layer : t->layers - 1;
}

static void fetch_linear(const struct texture *t, const struct texture_sample *s, uint32_t value[4])
{
    int64_t i = s->texel[0];
    int32_t raw[4] = {0};

    if (s->texels && i >= 0 && i < t->levels[0].width)
        texel_load_raw(&t->texel, t->levels[0].base + (size_t)i * texel_bytes(&t->texel), raw);
    texel_words(&t->texel, raw, value);
}

void texture_read(const struct texture *t, const struct texture_sample *s, uint32_t value[4])
{
    struct level_read r = {.texture = t, .by_number = s->texels && s->access != TEXTURE_LEVEL};
    struct level_choice choice;
    float at[3];
    struct texture_stretch stretch = {.ratio = 1};

    if (t->linear_memory) {
        fetch_linear(t, s, value);
        return;
    }
    memcpy(at, s->at, sizeof(at));
    r.slice = layer_of(t, s->layer) * (t->cube ? 6 : 1);
    if (t->cube) {
        struct cube_point p = cube_project(s->at);

        r.face = p.face;
        at[0] = p.s;
        at[1] = p.t;
    }
    if (s->access == TEXTURE_GATHER) {
        read_gather(&r, s, at, value);
        return;
    }
    if (s->texels) {
        if (s->access == TEXTURE_LEVEL && (unsigned)s->texel_level >= t->level_count) {
            memset(value, 0, 16);
            return;
        }
        choice = (struct level_choice){
            .level = s->access == TEXTURE_LEVEL ? (unsigned)s->texel_level : 0};
        read_levels(&r, s, &choice, at, value);
        return;
    }
    if (s->access == TEXTURE_GRADIENT)
        choice = level_choose(t, level_of_derivatives(t, s, &stretch) + t->level_bias);
    else
        choice = level_choose(t, s->access == TEXTURE_LEVEL
                                     ? truncf(s->level * 256) / 256 + t->level_bias
                                     : 0);
    if (stretch.ratio > 1 && !t->cube && !texel_is_integer(&t->texel))
        read_along(&r, s, &choice, at, &stretch, value);
    else
        read_levels(&r, s, &choice, at, value);
}
