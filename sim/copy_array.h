// SPDX-License-Identifier: BSD-3-Clause
// Arrays as a side of a copy.
#ifndef SIM_COPY_ARRAY_H
#define SIM_COPY_ARRAY_H

#include "sim/copy.h"

// The side of a copy of BOX's extent at a place in an array. INVALID_VALUE: the array is not there, or the place is
// not within it.
CUresult array_side(CUarray array, size_t x, size_t y, size_t z, const struct copy_box *box,
                    struct copy_side *side);

#endif
