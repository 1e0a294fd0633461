// SPDX-License-Identifier: BSD-3-Clause
// Describes arrays as sides of a copy.
#ifndef SIM_COPY_ARRAY_H
#define SIM_COPY_ARRAY_H

#include "sim/memory/copy.h"

// Fills the side of a copy of BOX's extent at a position in an array. Returns INVALID_VALUE if the
// array does not exist or the box does not fit into it.
CUresult array_side(CUarray array, size_t x, size_t y, size_t z, const struct copy_box *box,
                    struct copy_side *side);

#endif
