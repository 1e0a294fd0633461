// SPDX-License-Identifier: BSD-3-Clause
// Clocks: the monotonic clock for waits and deadlines (nanoseconds unless the name says otherwise),
// the wall clock for people and tickets, and the boot clock, which includes the time in which the
// host was suspended.
#ifndef RGPU_COMMON_CLOCK_H
#define RGPU_COMMON_CLOCK_H

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_us(void)
{
    return clock_ns() / 1000;
}

static inline int64_t clock_ms(void)
{
    return (int64_t)(clock_ns() / 1000000);
}

static inline double clock_seconds(void)
{
    return (double)clock_ns() * 1e-9;
}

// Returns the seconds since 1970.
static inline int64_t clock_wall_seconds(void)
{
    return (int64_t)(clock_read_ns(CLOCK_REALTIME) / 1000000000u);
}

// Returns the seconds since the host booted, including suspended time.
static inline double clock_boot_seconds(void)
{
    return (double)clock_read_ns(CLOCK_BOOTTIME) * 1e-9;
}

// Cheaper than clock_ns(), with the resolution of the kernel's tick.
static inline uint64_t clock_coarse_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC_COARSE);
}

// Returns the time TIMEOUT_MS after START, or after now; UINT64_MAX (never) if TIMEOUT_MS is
// negative.
static inline uint64_t deadline_from(uint64_t start, int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : start + (uint64_t)timeout_ms * 1000000u;
}

static inline uint64_t deadline_in(int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : deadline_from(clock_ns(), timeout_ms);
}

// Returns the milliseconds until DEADLINE for poll(), rounded up; -1 for never.
static inline int deadline_left(uint64_t deadline)
{
    uint64_t now, left;

    if (deadline == UINT64_MAX)
        return -1;
    now = clock_ns();
    if (now >= deadline)
        return 0;
    left = (deadline - now + 999999u) / 1000000u;
    return left > INT_MAX ? INT_MAX : (int)left;
}

static inline struct timespec deadline_timespec(uint64_t deadline)
{
    return (struct timespec){.tv_sec = (time_t)(deadline / 1000000000u),
                             .tv_nsec = (long)(deadline % 1000000000u)};
}

// Waits as pthread_cond_timedwait, but by the monotonic clock. Works for any condition variable.
static inline int clock_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                   uint64_t deadline)
{
    struct timespec until = deadline_timespec(deadline);

    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
}

// As clock_wait_until(), for at most US microseconds.
static inline int clock_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t us)
{
    return clock_wait_until(condition, mutex, clock_ns() + us * 1000);
}

#endif
