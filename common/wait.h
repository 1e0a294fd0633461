// SPDX-License-Identifier: BSD-3-Clause
// The three ways to wait for what no event announces: `spin` for a bounded time, `patience` for as long
// as such waits have taken of late, `backoff` ever more slowly.
#ifndef RGPU_COMMON_WAIT_H
#define RGPU_COMMON_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "common/clock.h"

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

// Whether to look again; pauses the processor first. The clock is read every TURNS looks.
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

// Whether to spin at all before sleeping. Where processors are few, or this thread had to leave its own to others, spinning
// keeps away who is waited for and who is to wake us: if it was in vain it is left out then, ever more often. Elsewhere it
// only takes time that nobody needs.
struct spin_habit {
    uint32_t skip;  // waits that do not spin from now on
    uint32_t pause; // and after the next one that spins in vain
};
enum { SPIN_PAUSE_MAX = 63, SPIN_FEW_US = 20 }; // who may spin no longer has few processors

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

// How long waits of one kind have taken of late, as a guess at the next. One that is over soon is best
// spent awake: going to sleep and waking up take longer than a device or a short kernel does.
struct patience {
    _Atomic uint32_t expected_us;
};
enum { PATIENCE_US = 1000 }; // longer waits are slept through

// How long to spin: SPIN_US, or through the expected wait; 0 is never.
static inline uint64_t patience_ns(const struct patience *patience, uint32_t spin_us)
{
    uint64_t expected = atomic_load_explicit(&patience->expected_us, memory_order_relaxed);

    if (!spin_us || expected > PATIENCE_US || 2 * expected < spin_us)
        return (uint64_t)spin_us * 1000;
    return 2 * expected * 1000;
}

static inline void patience_note(struct patience *patience, uint64_t took_ns)
{
    uint64_t expected = atomic_load_explicit(&patience->expected_us, memory_order_relaxed);
    uint64_t us = took_ns / 1000;

    us = us < 2 * PATIENCE_US ? us : 2 * PATIENCE_US;
    atomic_store_explicit(&patience->expected_us, (uint32_t)((3 * expected + us) / 4),
                          memory_order_relaxed);
}

// Waits are slept through at present.
static inline bool patience_is_over(const struct patience *patience)
{
    return atomic_load_explicit(&patience->expected_us, memory_order_relaxed) > PATIENCE_US;
}

// One that was tried awake counts for all before it.
static inline void patience_learn(struct patience *patience, uint64_t took_ns)
{
    uint64_t us = took_ns / 1000;

    if (us <= PATIENCE_US)
        atomic_store_explicit(&patience->expected_us, (uint32_t)us, memory_order_relaxed);
}

// How a thread waits where nothing can wake it: at once again for SPIN_US, then asleep, ever longer.
struct backoff {
    uint64_t since_us; // 0: something has just happened
    uint32_t usual_us; // how long that usually takes; 0: not known
};
enum { BACKOFF_SLEEP_MIN_US = 20, BACKOFF_SLEEP_MAX_US = 1000, BACKOFF_USUAL_MAX_US = 5000 };

// Something has happened; LEARN: the wait for it is a guess at the next.
static inline void backoff_over(struct backoff *backoff, bool learn)
{
    uint64_t waited = backoff->since_us ? clock_us() - backoff->since_us : 0;

    // Where nothing was waited for there is nothing to learn.
    if (waited > BACKOFF_USUAL_MAX_US)
        waited = BACKOFF_USUAL_MAX_US;
    if (waited && learn)
        backoff->usual_us = (uint32_t)((3 * backoff->usual_us + waited) / 4);
    backoff->since_us = 0;
}

// How long to sleep now, microseconds; 0: not at all.
static inline uint32_t backoff_next(struct backoff *backoff, uint32_t spin_us)
{
    uint64_t now = clock_us();

    if (!backoff->since_us)
        backoff->since_us = now;
    uint64_t waited = now - backoff->since_us;
    if (waited < spin_us)
        return 0;
    // Half of what it usually takes, then a sixteenth of the time waited so far: never much later than
    // needed, and cheap in a long wait.
    uint64_t half = backoff->usual_us / 2;
    uint64_t sleep = waited < half ? half - waited : waited / 16;
    if (sleep < BACKOFF_SLEEP_MIN_US)
        sleep = BACKOFF_SLEEP_MIN_US;
    return sleep < BACKOFF_SLEEP_MAX_US ? (uint32_t)sleep : BACKOFF_SLEEP_MAX_US;
}

#endif
