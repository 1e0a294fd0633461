// SPDX-License-Identifier: BSD-3-Clause
// The texels that one read of one level touches, and their weights. Shared by the files of this folder.
#ifndef SIM_TEXTURE_FOOTPRINT_H
#define SIM_TEXTURE_FOOTPRINT_H

#include "sim/texture/texel.h"

// Two neighbours in one direction: which texels, and how much of the second, in 256ths. -1 is the border.
struct footprint_axis {
    int64_t low, high; // before the address mode
    int32_t index[2];
    int32_t weight;
};

// In a direction of `extent` texels.
void axis_linear(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                 float at, unsigned extent, int offset);
void axis_point(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                float at, unsigned extent, int offset);
void axis_texel(struct footprint_axis *axis, const struct texture *texture, unsigned direction,
                int64_t at, unsigned extent);
// A texel by its number; beyond the texture there is none, whatever the address mode.
void axis_index(struct footprint_axis *axis, int64_t at, unsigned extent);

// A direction: its face, and where on it, 0 to 1.
struct cube_point {
    unsigned face;
    float s, t;
};
struct cube_point cube_project(const float direction[3]);
// A texel beyond an edge of a face is one of the face behind that edge. False: behind a corner there is none.
bool cube_neighbour(unsigned *face, int32_t *x, int32_t *y, unsigned extent);

// Which levels a read mixes: the first, and how much of the next, in 256ths.
struct level_choice {
    unsigned level;
    int32_t weight;
    bool magnified; // at or above the first level
};
struct level_choice level_choose(const struct texture *texture, float level);
// How a read is stretched: so many times as long as it is wide, where a step is as long as the level's texels are wide.
struct texture_stretch {
    float ratio; // at least 1
    float step[3];
};
// The level that derivatives ask for, which is that of the width.
float level_of_derivatives(const struct texture *texture, const struct texture_sample *sample,
                           struct texture_stretch *stretch);

#endif
