// SPDX-License-Identifier: BSD-3-Clause
// Pauses that differ, so that many who begin at one moment do not go on at one moment.
#ifndef RGPU_COMMON_SPREAD_H
#define RGPU_COMMON_SPREAD_H

#include <stdint.h>

// PAUSE less a random part of at most PERCENT of it, evenly spread. Processes that start alike draw differently.
uint64_t spread_pause(uint64_t pause, unsigned percent);

#endif
