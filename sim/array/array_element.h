// SPDX-License-Identifier: BSD-3-Clause
// What the texels of an array are: how many bytes, in blocks of which size, and in how many planes.
#ifndef SIM_ARRAY_ELEMENT_H
#define SIM_ARRAY_ELEMENT_H

#include "sim/sim.h"

enum { ARRAY_PLANES_MAX = 3 };

struct array_element {
    unsigned bytes; // of a texel, or of a block of texels
    unsigned block; // texels of a block in x and in y: 1, or 4 where it is compressed
};

// A plane of a picture that has its brightness and colours apart.
struct array_plane {
    CUarray_format format;
    unsigned channels;
    unsigned across, down; // its texels stand for so many of the picture
};

// Of a format that arrays may have with so many channels; false: there are none.
bool array_element_find(CUarray_format format, unsigned channels, struct array_element *out);

// The planes of a format, which are none of most.
unsigned array_planes_find(CUarray_format format, unsigned channels,
                           struct array_plane planes[ARRAY_PLANES_MAX]);

#endif
