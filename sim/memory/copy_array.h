// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_COPY_ARRAY_H
#define SIM_COPY_ARRAY_H

#include "sim/memory/copy.h"

// Describes a position in an array as a side of a copy of BOX's extent. Returns INVALID_VALUE if
// the array does not exist or the box does not fit.
CUresult array_side(CUarray array, size_t x, size_t y, size_t z, const struct copy_box *box,
                    struct copy_side *side);

#endif
