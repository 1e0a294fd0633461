// SPDX-License-Identifier: BSD-3-Clause
// Clocks: a monotonic clock in nanoseconds, for waits and deadlines; the wall clock in seconds, for
// people and tickets; and a clock in seconds that also runs while the host sleeps.
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

// Since 1970, as the wall's clock has it.
static inline int64_t clock_wall_seconds(void)
{
    return (int64_t)(clock_read_ns(CLOCK_REALTIME) / 1000000000u);
}

// Since the host was started, the time in which it slept included.
static inline double clock_boot_seconds(void)
{
    return (double)clock_read_ns(CLOCK_BOOTTIME) * 1e-9;
}

// Cheaper, and as exact as the kernel's tick.
static inline uint64_t clock_coarse_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC_COARSE);
}

// A point in time TIMEOUT_MS from START or from now; negative means never.
static inline uint64_t deadline_from(uint64_t start, int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : start + (uint64_t)timeout_ms * 1000000u;
}

static inline uint64_t deadline_in(int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : deadline_from(clock_ns(), timeout_ms);
}

// Milliseconds for poll(), rounded up; -1 for never.
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

// pthread_cond_timedwait until DEADLINE, for any condition.
static inline int clock_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                   uint64_t deadline)
{
    struct timespec until = deadline_timespec(deadline);

    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
}

// The same for US microseconds from now.
static inline int clock_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t us)
{
    return clock_wait_until(condition, mutex, clock_ns() + us * 1000);
}

#endif
