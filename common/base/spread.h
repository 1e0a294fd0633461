// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_COMMON_SPREAD_H
#define RGPU_COMMON_SPREAD_H

#include <stdint.h>

// Returns PAUSE minus a random part of at most PERCENT of it, evenly distributed, so that processes
// that start together do not act together. PAUSE may have any unit. Processes draw different
// numbers.
uint64_t spread_pause(uint64_t pause, unsigned percent);

#endif
