// SPDX-License-Identifier: BSD-3-Clause
// Three ways to wait without an event: `spin` polls for a bounded time, `wait_estimate` for as long
// as recent waits took, and `backoff` at growing intervals.
#ifndef RGPU_COMMON_WAIT_H
#define RGPU_COMMON_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "common/base/clock.h"

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

struct spin {
    uint64_t end; // 0: the clock has not been read yet
    uint32_t turns;
    uint32_t us;
};

// Returns true if the caller should poll again; pauses the processor first. Reads the clock every
// TURNS calls.
static inline bool spin_more(struct spin *spin, uint32_t turns)
{
    if (!spin->us)
        return false;
    if (!spin->end)
        spin->end = clock_ns() + (uint64_t)spin->us * 1000u;
    cpu_relax();
    if (++spin->turns % turns)
        return true;
    return clock_ns() < spin->end;
}

// Decides whether to spin before sleeping. If processors are few, or this thread was preempted,
// spinning delays the awaited thread. Then each spin without success makes more of the following
// waits sleep at once. Otherwise spinning only takes idle processor time.
struct spin_habit {
    uint32_t skip;  // waits that do not spin from now on
    uint32_t pause; // the number after the next spin without success
};
enum { SPIN_PAUSE_MAX = 63, SPIN_FEW_US = 20 }; // a shorter limit means few processors

static inline bool spin_is_due(struct spin_habit *habit)
{
    if (!habit->skip)
        return true;
    habit->skip--;
    return false;
}

static inline void spin_paid(struct spin_habit *habit)
{
    habit->skip = habit->pause = 0;
}

static inline void spin_was_in_vain(struct spin_habit *habit, uint32_t spin_us)
{
    static __thread long preemptions; // several threads may wait by turns, each has its own
    struct rusage usage;
    bool disturbs = spin_us <= SPIN_FEW_US;

    if (!disturbs && getrusage(RUSAGE_THREAD, &usage) == 0) {
        disturbs = usage.ru_nivcsw != preemptions;
        preemptions = usage.ru_nivcsw;
    }
    if (disturbs)
        habit->pause = 2 * habit->pause + 1 < SPIN_PAUSE_MAX ? 2 * habit->pause + 1
                                                             : SPIN_PAUSE_MAX;
    else
        habit->pause = 0;
    habit->skip = habit->pause;
}

// An estimate of the next wait of one kind, from recent ones. A short wait should spin: falling
// asleep and waking up takes longer than a device or a short kernel.
struct wait_estimate {
    _Atomic uint32_t expected_us;
};
enum { LONG_WAIT_US = 1000 }; // longer waits sleep

// Returns the time to spin: SPIN_US, or the expected wait; 0 for none.
static inline uint64_t wait_estimate_spin_ns(const struct wait_estimate *estimate, uint32_t spin_us)
{
    uint64_t expected = atomic_load_explicit(&estimate->expected_us, memory_order_relaxed);

    if (!spin_us || expected > LONG_WAIT_US || 2 * expected < spin_us)
        return (uint64_t)spin_us * 1000;
    return 2 * expected * 1000;
}

static inline void wait_estimate_add(struct wait_estimate *estimate, uint64_t took_ns)
{
    uint64_t expected = atomic_load_explicit(&estimate->expected_us, memory_order_relaxed);
    uint64_t us = took_ns / 1000;

    us = us < 2 * LONG_WAIT_US ? us : 2 * LONG_WAIT_US;
    atomic_store_explicit(&estimate->expected_us, (uint32_t)((3 * expected + us) / 4),
                          memory_order_relaxed);
}

// Returns true if waits sleep at present.
static inline bool wait_estimate_is_long(const struct wait_estimate *estimate)
{
    return atomic_load_explicit(&estimate->expected_us, memory_order_relaxed) > LONG_WAIT_US;
}

// Records a wait that spun as a trial: its time replaces the estimate.
static inline void wait_estimate_update(struct wait_estimate *estimate, uint64_t took_ns)
{
    uint64_t us = took_ns / 1000;

    if (us <= LONG_WAIT_US)
        atomic_store_explicit(&estimate->expected_us, (uint32_t)us, memory_order_relaxed);
}

// A wait that no event ends: retries at once for SPIN_US, then sleeps for growing times.
struct backoff {
    uint64_t since_us; // 0: something has just happened
    uint32_t usual_us; // how long that usually takes; 0: not known
};
enum { BACKOFF_SLEEP_MIN_US = 20, BACKOFF_SLEEP_MAX_US = 1000, BACKOFF_USUAL_MAX_US = 5000 };

// Ends the wait after an event. LEARN: the time of this wait is an estimate of the next.
static inline void backoff_over(struct backoff *backoff, bool learn)
{
    uint64_t waited = backoff->since_us ? clock_us() - backoff->since_us : 0;

    // A wait of zero is not used.
    if (waited > BACKOFF_USUAL_MAX_US)
        waited = BACKOFF_USUAL_MAX_US;
    if (waited && learn)
        backoff->usual_us = (uint32_t)((3 * backoff->usual_us + waited) / 4);
    backoff->since_us = 0;
}

// Returns the microseconds to sleep now; 0 for none.
static inline uint32_t backoff_next(struct backoff *backoff, uint32_t spin_us)
{
    uint64_t now = clock_us();

    if (!backoff->since_us)
        backoff->since_us = now;
    uint64_t waited = now - backoff->since_us;
    if (waited < spin_us)
        return 0;
    // Sleeps for half of the usual wait, then for a sixteenth of the time waited so far: never
    // wakes much too late, and costs little in a long wait.
    uint64_t half = backoff->usual_us / 2;
    uint64_t sleep = waited < half ? half - waited : waited / 16;
    if (sleep < BACKOFF_SLEEP_MIN_US)
        sleep = BACKOFF_SLEEP_MIN_US;
    return sleep < BACKOFF_SLEEP_MAX_US ? (uint32_t)sleep : BACKOFF_SLEEP_MAX_US;
}

#endif
