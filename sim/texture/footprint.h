// SPDX-License-Identifier: BSD-3-Clause
// Computes the texels that a read of one level uses, and their weights. Only for files of this
// folder.
#ifndef SIM_TEXTURE_FOOTPRINT_H
#define SIM_TEXTURE_FOOTPRINT_H

#include "sim/texture/texel.h"

// Two neighbouring texels on one axis, and the weight of the second in 256ths. Index -1: border
// colour.
struct footprint_axis {
    int64_t low, high; // indexes before the address mode is applied
    int32_t index[2];
    int32_t weight;
};

// Compute the texels on an axis with `extent` texels, at position `at`.
void axis_linear(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                 float at, unsigned extent, int offset);
void axis_point(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                float at, unsigned extent, int offset);
void axis_texel(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                int64_t at, unsigned extent);
// Computes the texel of an index. An index out of range gives the border, in every address mode.
void axis_index(struct footprint_axis *axis, int64_t at, unsigned extent);

// A point on a cube: the face, and the position on it, each coordinate from 0 to 1.
struct cube_point {
    unsigned face;
    float s, t;
};
struct cube_point cube_project(const float direction[3]);
// Converts a position beyond a face's edge to the adjacent face. Returns false beyond a corner,
// where no texel is.
bool cube_neighbour(unsigned *face, int32_t *x, int32_t *y, unsigned extent);

// Levels that a read uses: `level` and the next one, with the weight of the next one in 256ths.
struct level_choice {
    unsigned level;
    int32_t weight;
    bool magnified; // texels are enlarged or of original size
};
struct level_choice level_choose(const struct texture *texture, float level);
// Anisotropy of a read: ratio of the footprint's length to its width. One step has the length of
// one texel.
struct texture_stretch {
    float ratio; // at least 1
    float step[3];
};
// Returns the level whose texels have the width of the footprint that the derivatives span.
float level_of_derivatives(const struct texture *texture, const struct texture_sample *sample,
                           struct texture_stretch *stretch);

#endif
