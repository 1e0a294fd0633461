// SPDX-License-Identifier: BSD-3-Clause
// The broker's two clocks: the wall's, for people and tickets, and one that never jumps.
#ifndef RGPU_BROKER_TIME_H
#define RGPU_BROKER_TIME_H

#include "common/clock.h"

// Seconds since 1970.
static inline int64_t broker_wall(void)
{
    return (int64_t)(clock_read_ns(CLOCK_REALTIME) / 1000000000u);
}

// Seconds since the host was started, those in which it slept included.
static inline double broker_steady(void)
{
    return (double)clock_read_ns(CLOCK_BOOTTIME) * 1e-9;
}

#endif
