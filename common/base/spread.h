// SPDX-License-Identifier: BSD-3-Clause
// Random pauses, so that many processes that begin at the same moment do not continue at the same
// moment.
#ifndef RGPU_COMMON_SPREAD_H
#define RGPU_COMMON_SPREAD_H

#include <stdint.h>

// PAUSE less a random part of at most PERCENT of it, evenly spread. Processes that start alike draw
// differently.
uint64_t spread_pause(uint64_t pause, unsigned percent);

#endif
