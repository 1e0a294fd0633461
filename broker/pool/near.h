// SPDX-License-Identifier: BSD-3-Clause
// Computes how near a box is to the place where its GPUs are used. A box describes its position by
// its `locality`: one or more labels separated by dots, such as "hall3.rack1". A request lists
// labels, nearest first: "rack1|rack2,hall3" prefers two racks, then their hall, then any other
// place.
#ifndef RGPU_BROKER_NEAR_H
#define RGPU_BROKER_NEAR_H

#include "broker/pool/pool.h"

// Returns the index of the first entry of `near` that is a label or the name of the box; the number
// of entries if there is none.
uint32_t near_distance(const char *near, const struct pool_box *box);

#endif
