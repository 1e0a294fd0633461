// SPDX-License-Identifier: BSD-3-Clause
// A fast monotonic clock, which each watched call reads at its beginning and end. If the
// processor's counter (TSC) has a constant rate and the kernel trusts it, each thread reads the
// counter, and compares it with the system's clock from time to time. Reading the system's clock is
// slower, because it waits until the processor has finished all earlier instructions.
#ifndef RGPU_CLIENT_STOPWATCH_H
#define RGPU_CLIENT_STOPWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

// The clock as a linear function of the counter. After `span` ticks the two are compared again.
struct stopwatch {
    uint64_t ticks, ns; // counter and time at the last comparison
    uint64_t span;      // in ticks; 0: never compared
    uint64_t rate;      // ns for each tick, times 2^32
};

// True if there is such a counter; false until the library is loaded.
extern bool stopwatch_counts;
extern __thread struct stopwatch stopwatch_mine; // the calling thread's clock

// Returns the processor's counter; 0 if there is none.
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

// Compares the counter with the system's clock, updates *MINE, and returns the time in ns.
uint64_t stopwatch_compare(struct stopwatch *mine);

// Returns the time in ns. The result differs from clock_ns() by a few microseconds at most, and
// never decreases in one thread.
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
