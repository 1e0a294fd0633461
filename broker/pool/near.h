// SPDX-License-Identifier: BSD-3-Clause
// Computes the distance of a box from the place where its GPUs are used. The `locality` of a box
// has one or more labels, separated by dots, such as "hall3.rack1". A request lists labels, nearest
// first: "rack1|rack2,hall3" prefers two racks, then their hall, then any other place.
#ifndef RGPU_BROKER_NEAR_H
#define RGPU_BROKER_NEAR_H

#include "broker/pool/pool.h"

// Returns the index of the first entry of NEAR that names the box or one of its labels; without
// such an entry, the number of entries.
uint32_t near_distance(const char *near, const struct pool_box *box);

#endif
