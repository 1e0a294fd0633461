// SPDX-License-Identifier: BSD-3-Clause
// How near a box is to where its GPUs will be used. A box says where it is by its `locality`, one or more
// labels with dots between, such as "hall3.rack1". A request says where it is near by what it calls
// nearest first: "rack1|rack2,hall3" is in one of two racks, else in their hall, else elsewhere.
#ifndef RGPU_BROKER_NEAR_H
#define RGPU_BROKER_NEAR_H

#include "broker/pool.h"

// The place in `near` of the first that is a label or the name of the box; their number where none is.
uint32_t near_distance(const char *near, const struct pool_box *box);

#endif
