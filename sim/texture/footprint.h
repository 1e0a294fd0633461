// SPDX-License-Identifier: BSD-3-Clause
// Computes the texels that one read of one level uses, and their weights. Shared by the files of
// this folder.
#ifndef SIM_TEXTURE_FOOTPRINT_H
#define SIM_TEXTURE_FOOTPRINT_H

#include "sim/texture/texel.h"

// Two neighbours along one axis, and the second one's weight in 256ths. Index -1 is the border.
struct footprint_axis {
    int64_t low, high; // before the address mode
    int32_t index[2];
    int32_t weight;
};

// Compute the texels along an axis of `extent` texels.
void axis_linear(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                 float at, unsigned extent, int offset);
void axis_point(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                float at, unsigned extent, int offset);
void axis_texel(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                int64_t at, unsigned extent);
// Selects a texel by index. Beyond the texture there is none, in every address mode.
void axis_index(struct footprint_axis *axis, int64_t at, unsigned extent);

// A direction as a face and a position on it, 0 to 1.
struct cube_point {
    unsigned face;
    float s, t;
};
struct cube_point cube_project(const float direction[3]);
// Moves a texel beyond a face's edge to the adjoining face. Returns false at a corner, which has no
// texel.
bool cube_neighbour(unsigned *face, int32_t *x, int32_t *y, unsigned extent);

// The levels that a read mixes: the first level, and the next one's weight in 256ths.
struct level_choice {
    unsigned level;
    int32_t weight;
    bool magnified; // at or above the first level
};
struct level_choice level_choose(const struct texture *texture, float level);
// The anisotropy of a read: its ratio of length to width. A step is as long as the level's texels
// are wide.
struct texture_stretch {
    float ratio; // at least 1
    float step[3];
};
// Returns the level of the derivatives, which follows from the footprint's width.
float level_of_derivatives(const struct texture *texture, const struct texture_sample *sample,
                           struct texture_stretch *stretch);

#endif
