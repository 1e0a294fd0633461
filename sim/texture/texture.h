// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes texels of textures and surfaces with the results of NVIDIA's GPUs. A texture has
// levels of texels, whose memory the caller owns, and sampling settings.
//
// The functions never allocate, wait or fail: positions beyond a texture have values, too. Any
// number of threads may read one texture.
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
    GEOMETRY_A1D, // A: array, that is, layered
    GEOMETRY_A2D,
    GEOMETRY_ACUBE,
};

static inline bool geometry_is_layered(enum texture_geometry geometry)
{
    return geometry >= GEOMETRY_A1D;
}
// Returns the number of coordinates besides the layer.
unsigned geometry_coordinates(enum texture_geometry geometry);

// Type of a channel.
enum channel_kind {
    CHANNEL_UNSIGNED, // read as integers
    CHANNEL_SIGNED,
    CHANNEL_UNORM, // 8 and 16 bits, read as fractions from 0 to 1
    CHANNEL_SNORM, // 8 and 16 bits, read as fractions from -1 to 1
    CHANNEL_FLOAT, // 16 and 32 bits
};

struct texel_kind {
    enum channel_kind kind;
    unsigned channels;      // 1, 2 or 4
    unsigned channel_bytes; // 1, 2 or 4
    bool srgb;              // sRGB encoding, except of the fourth channel
};

static inline unsigned texel_bytes(const struct texel_kind *kind)
{
    return kind->channels * kind->channel_bytes;
}

enum address_mode { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };

#define TEXTURE_LEVELS 18
struct texture_level {
    const char *base;              // address of the first layer
    unsigned width, height, depth; // at least 1; a texture of linear memory has only a width
    size_t row_bytes, slice_bytes; // a slice is a step in depth, a layer or a face
};

struct texture {
    struct texel_kind texel;
    unsigned level_count;
    struct texture_level levels[TEXTURE_LEVELS];
    unsigned layers;    // number of layers or cubes, at least 1
    unsigned dimension; // 1, 2 or 3
    bool cube, layered;
    bool linear_memory; // read by index only; texels beyond the end are zero

    enum address_mode modes[3];
    bool linear, level_linear; // linear filter within a level, and between levels
    bool normalized, seamless;
    unsigned anisotropy; // at least 1
    float level_bias, level_least, level_most;
    float border[4];
};

enum texture_access {
    TEXTURE_BASE,  // tex without a level
    TEXTURE_LEVEL, // tex.level
    TEXTURE_GRADIENT,
    TEXTURE_GATHER,
};

struct texture_sample {
    enum texture_geometry geometry;
    enum texture_access access;
    bool texels; // coordinates and level are integers
    float at[3];
    int32_t texel[3];
    uint32_t layer;
    float level;
    int32_t texel_level;
    float along_x[3], along_y[3]; // derivatives
    int offset[3];                // offset in texels
    unsigned component;           // component of a gather
};

// Reads four words, which are floats or, depending on the texture, integers.
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
    unsigned width, height, depth, layers; // at least 1; `layers` of a cube counts faces
    unsigned dimension;                    // 1, 2 or 3
    bool layered;                          // layered, or a cube
    size_t row_bytes, slice_bytes;
};

struct surface_place {
    enum texture_geometry geometry;
    int32_t at[3]; // x is in bytes or in texels
    uint32_t layer;
};

// Returns in *OUT the address of `bytes` bytes at a position; NULL if reads there give zeros and
// writes are lost. Returns false if the access traps.
bool surface_find(const struct surface *surface, const struct surface_place *place,
                  enum surface_boundary boundary, bool x_in_bytes, unsigned bytes, char **out);

// Converts four words to the texel kind and stores the texel.
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
// Answer the PTX queries txq and suq.
uint32_t texture_answer(const struct texture *texture, enum image_question question,
                        unsigned level);
uint32_t surface_answer(const struct surface *surface, enum image_question question);

#endif
