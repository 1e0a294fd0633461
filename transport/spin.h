// Waiting without sleeping, for a bounded time; and deadlines.
#ifndef RGPU_TRANSPORT_SPIN_H
#define RGPU_TRANSPORT_SPIN_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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
        spin->end = monotonic_ns() + (uint64_t)spin->us * 1000u;
    cpu_relax();
    if (++spin->turns % turns)
        return true;
    return monotonic_ns() < spin->end;
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

// A point in time TIMEOUT_MS from START or from now; negative means never.
static inline uint64_t deadline_from(uint64_t start, int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : start + (uint64_t)timeout_ms * 1000000u;
}

static inline uint64_t deadline_in(int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : deadline_from(monotonic_ns(), timeout_ms);
}

// Milliseconds for poll(), rounded up; -1 for never.
static inline int deadline_left(uint64_t deadline)
{
    uint64_t now, left;

    if (deadline == UINT64_MAX)
        return -1;
    now = monotonic_ns();
    if (now >= deadline)
        return 0;
    left = (deadline - now + 999999u) / 1000000u;
    return left > INT_MAX ? INT_MAX : (int)left;
}

#endif
