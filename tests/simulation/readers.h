// SPDX-License-Identifier: BSD-3-Clause
// Those who look at the pool and change nothing: monitors, people, and a scheduler that asks what
// fits.
#ifndef RGPU_TEST_READERS_H
#define RGPU_TEST_READERS_H

#include <stdint.h>

void readers_set_up(uint64_t seed);
void readers_finish(void);

#endif
