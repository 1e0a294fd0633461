// SPDX-License-Identifier: BSD-3-Clause
// The monotonic clock for what is looked at twice in each call. Where the processor's own counter runs evenly
// and the kernel trusts it, each thread reads that, and compares it with the clock now and then: a look at the
// clock itself waits for all that the processor still has in hand.
#ifndef RGPU_CLIENT_STOPWATCH_H
#define RGPU_CLIENT_STOPWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

// A line through two points in time; what lies beyond `span` is compared with the clock again.
struct stopwatch {
    uint64_t ticks, ns; // of the last comparison
    uint64_t span;      // ticks; 0: never compared
    uint64_t rate;      // ns for each tick, in 2^-32
};

// Whether there is such a counter; false until the library is loaded.
extern bool stopwatch_counts;
extern __thread struct stopwatch stopwatch_mine;

#if defined(__x86_64__)
static inline uint64_t stopwatch_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t stopwatch_ticks(void)
{
    return 0;
}
#endif

uint64_t stopwatch_compare(struct stopwatch *mine);

// In ns, as clock_ns(), from which it is some microseconds away at most; never goes back in a thread.
static inline uint64_t stopwatch_ns(void)
{
    struct stopwatch *mine = &stopwatch_mine;
    uint64_t passed;

    if (!stopwatch_counts)
        return clock_ns();
    passed = stopwatch_ticks() - mine->ticks;
    if (__builtin_expect(passed >= mine->span, 0))
        return stopwatch_compare(mine);
    return mine->ns + (uint64_t)(((unsigned __int128)passed * mine->rate) >> 32);
}

#endif
