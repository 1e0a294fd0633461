// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes texels of textures and surfaces as NVIDIA's GPUs do. A texture consists of
// levels of texels and sampling settings; the caller owns the texels.
//
// The functions never allocate, wait or fail: positions beyond a texture have values, too. Any
// number of threads may sample one texture.
#ifndef SIM_TEXTURE_TEXTURE_H
#define SIM_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum texture_geometry {
    GEOMETRY_1D,
    GEOMETRY_2D,
    GEOMETRY_3D,
    GEOMETRY_CUBE,
    GEOMETRY_A1D, // layered: A for array
    GEOMETRY_A2D,
    GEOMETRY_ACUBE,
};

static inline bool geometry_is_layered(enum texture_geometry geometry)
{
    return geometry >= GEOMETRY_A1D;
}
// Returns the number of coordinates besides the layer.
unsigned geometry_coordinates(enum texture_geometry geometry);

// the type of a channel's bits
enum channel_kind {
    CHANNEL_UNSIGNED, // read as integers
    CHANNEL_SIGNED,
    CHANNEL_UNORM, // 8 and 16 bits, read as 0 to 1
    CHANNEL_SNORM, // and as -1 to 1
    CHANNEL_FLOAT, // 16 and 32 bits
};

struct texel_kind {
    enum channel_kind kind;
    unsigned channels;      // 1, 2, 4
    unsigned channel_bytes; // 1, 2, 4
    bool srgb;              // all but the fourth channel
};

static inline unsigned texel_bytes(const struct texel_kind *kind)
{
    return kind->channels * kind->channel_bytes;
}

enum address_mode { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };

#define TEXTURE_LEVELS 18
struct texture_level {
    const char *base;              // of the first layer
    unsigned width, height, depth; // at least 1; of a linear texture, width alone
    size_t row_bytes, slice_bytes; // a slice is a step in depth, a layer or a face
};

struct texture {
    struct texel_kind texel;
    unsigned level_count;
    struct texture_level levels[TEXTURE_LEVELS];
    unsigned layers;    // or cubes; at least 1
    unsigned dimension; // 1, 2, 3
    bool cube, layered;
    bool linear_memory; // fetched by index only; texels beyond are zero

    enum address_mode modes[3];
    bool linear, level_linear; // filters within a level, and between levels
    bool normalized, seamless;
    unsigned anisotropy; // at least 1
    float level_bias, level_least, level_most;
    float border[4];
};

enum texture_access {
    TEXTURE_BASE,  // without a level
    TEXTURE_LEVEL, // at a level
    TEXTURE_GRADIENT,
    TEXTURE_GATHER,
};

struct texture_sample {
    enum texture_geometry geometry;
    enum texture_access access;
    bool texels; // coordinates are integers, and so is the level
    float at[3];
    int32_t texel[3];
    uint32_t layer;
    float level;
    int32_t texel_level;
    float along_x[3], along_y[3]; // derivatives
    int offset[3];                // in texels
    unsigned component;           // of a gather
};

// Reads four words: floats, or integers if the texture is read as integers.
void texture_read(const struct texture *texture, const struct texture_sample *sample,
                  uint32_t result[4]);

enum surface_boundary { BOUNDARY_TRAP, BOUNDARY_CLAMP, BOUNDARY_ZERO };
enum surface_access {
    SURFACE_LOAD,
    SURFACE_STORE,
    SURFACE_FORMAT,
    SURFACE_REDUCE,
    SURFACE_REDUCE_TEXEL
};

struct surface {
    struct texel_kind texel;
    char *base;
    unsigned width, height, depth, layers; // at least 1; of cubes, layers are faces
    unsigned dimension;                    // 1, 2, 3
    bool layered;                          // or a cube
    size_t row_bytes, slice_bytes;
};

struct surface_place {
    enum texture_geometry geometry;
    int32_t at[3]; // x in bytes, or in texels
    uint32_t layer;
};

// Finds the address of `bytes` at a position; NULL if the boundary mode gives zeros there. Returns
// false if the access traps.
bool surface_find(const struct surface *surface, const struct surface_place *place,
                  enum surface_boundary boundary, bool x_in_bytes, unsigned bytes, char **out);

// Converts four words, floats or integers by the texel kind, and stores the texel.
void texel_store(const struct texel_kind *kind, char *at, const uint32_t value[4]);

enum image_question {
    ASK_WIDTH,
    ASK_HEIGHT,
    ASK_DEPTH,
    ASK_DATA_TYPE,
    ASK_ORDER,
    ASK_NORMALIZED,
    ASK_LAYERS,
    ASK_LEVELS,
    ASK_SAMPLES,
    ASK_IS_TEXTURE, // istypep
    ASK_IS_SURFACE,
    ASK_IS_SAMPLER,
};
uint32_t texture_answer(const struct texture *texture, enum image_question question,
                        unsigned level);
uint32_t surface_answer(const struct surface *surface, enum image_question question);

#endif
