// SPDX-License-Identifier: BSD-3-Clause
// Waiting without an event: `spin` polls for a limited time, `spin_habit` and `wait_estimate`
// decide how long polling pays off, and `backoff` sleeps at growing intervals.
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
    uint64_t end; // end of the spin time; 0: not started
    uint32_t turns;
    uint32_t us;
};

// Pauses the processor, and returns true if the caller should poll again. Reads the clock only in
// every TURNS-th call.
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

// Decides whether to spin before a sleep. If the machine has few processors, or this thread was
// preempted, spinning delays the thread that is waited for. In that case, each unsuccessful spin
// makes more of the following waits sleep without a spin.
struct spin_habit {
    uint32_t skip;  // number of following waits that do not spin
    uint32_t pause; // value of `skip` after the next unsuccessful spin
};
// SPIN_FEW_US: a spin time up to this one means few processors
enum { SPIN_PAUSE_MAX = 63, SPIN_FEW_US = 20 };

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
    // one for each thread, because several threads may use one habit
    static __thread long preemptions;
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

// Expected length of the next wait of one kind, from the previous ones. Short waits should spin,
// because sleeping and waking up takes longer than a device or a short kernel.
struct wait_estimate {
    _Atomic uint32_t expected_us;
};
// with an expectation above this, waits do not spin for longer than SPIN_US
enum { LONG_WAIT_US = 1000 };

// Returns the nanoseconds to spin: twice the expected wait, or SPIN_US if the wait is expected to
// be long or very short.
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

// Returns true if the next wait is expected to be long.
static inline bool wait_estimate_is_long(const struct wait_estimate *estimate)
{
    return atomic_load_explicit(&estimate->expected_us, memory_order_relaxed) > LONG_WAIT_US;
}

// Updates the expectation after a wait that spun as a trial.
static inline void wait_estimate_update(struct wait_estimate *estimate, uint64_t took_ns)
{
    uint64_t us = took_ns / 1000;

    if (us <= LONG_WAIT_US)
        atomic_store_explicit(&estimate->expected_us, (uint32_t)us, memory_order_relaxed);
}

// A wait without an event: no sleep for the first SPIN_US microseconds, then sleeps of growing
// length.
struct backoff {
    uint64_t since_us; // begin of the wait; 0: not waiting
    uint32_t usual_us; // usual length of the wait; 0: unknown
};
enum { BACKOFF_SLEEP_MIN_US = 20, BACKOFF_SLEEP_MAX_US = 1000, BACKOFF_USUAL_MAX_US = 5000 };

// Ends a wait because the event has happened. LEARN: use its length to predict the next one.
static inline void backoff_over(struct backoff *backoff, bool learn)
{
    uint64_t waited = backoff->since_us ? clock_us() - backoff->since_us : 0;

    // Waits of zero length are ignored.
    if (waited > BACKOFF_USUAL_MAX_US)
        waited = BACKOFF_USUAL_MAX_US;
    if (waited && learn)
        backoff->usual_us = (uint32_t)((3 * backoff->usual_us + waited) / 4);
    backoff->since_us = 0;
}

// Returns the microseconds to sleep now; 0: poll again at once.
static inline uint32_t backoff_next(struct backoff *backoff, uint32_t spin_us)
{
    uint64_t now = clock_us();

    if (!backoff->since_us)
        backoff->since_us = now;
    uint64_t waited = now - backoff->since_us;
    if (waited < spin_us)
        return 0;
    // First sleeps for half of the usual wait, then always for a sixteenth of the time waited so
    // far. So the delay is small in relation to the wait, and a long wait costs little.
    uint64_t half = backoff->usual_us / 2;
    uint64_t sleep = waited < half ? half - waited : waited / 16;
    if (sleep < BACKOFF_SLEEP_MIN_US)
        sleep = BACKOFF_SLEEP_MIN_US;
    return sleep < BACKOFF_SLEEP_MAX_US ? (uint32_t)sleep : BACKOFF_SLEEP_MAX_US;
}

#endif
