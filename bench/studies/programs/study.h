// SPDX-License-Identifier: BSD-3-Clause
// Implements the common parts of the study programs: time, figures as JSON lines, marks at which
// the runner counts, medians. They are ordinary programs of the Driver API, independent of rgpu.
#ifndef RGPU_STUDIES_STUDY_H
#define RGPU_STUDIES_STUDY_H

#include <stdlib.h>
#include <time.h>

#include "tests/programs/driver.h"

enum { STUDY_SAMPLES = 4000 };

static inline double study_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Prints MARK and waits until the runner has counted and all other clients have reached the mark.
static inline void study_mark(const char *mark)
{
    printf("{\"mark\": \"%s\"}\n", mark);
    fflush(stdout);
    while (getchar() != '\n')
        if (feof(stdin))
            return;
}

static inline int study_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double study_median(double *samples, unsigned count)
{
    qsort(samples, count, sizeof(*samples), study_order);
    return samples[count / 2];
}

static inline void study_figure(const char *name, double value, const char *unit)
{
    printf("{\"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name, value, unit);
    fflush(stdout);
}

static inline void study_figure_at(const char *name, size_t x, double value, const char *unit)
{
    printf("{\"figure\": \"%s\", \"x\": %zu, \"value\": %.6g, \"unit\": \"%s\"}\n", name, x, value,
           unit);
    fflush(stdout);
}

// Repeats `once`, which returns its seconds, for SECONDS after one warm-up. Returns the median in
// microseconds.
static inline double study_repeat(double (*once)(void *), void *argument, double seconds,
                                  unsigned least)
{
    static double samples[STUDY_SAMPLES];
    unsigned count = 0;
    once(argument);
    double end = study_now() + seconds;
    do
        samples[count++] = once(argument);
    while (count < STUDY_SAMPLES && (count < least || study_now() < end));
    return study_median(samples, count) * 1e6;
}

// Returns true for the naive way of other measurements: memory is registered for each message, and
// each call is waited for.
static inline bool study_naive(void)
{
    const char *set = getenv("STUDY_NAIVE");
    return set && *set && *set != '0';
}

static inline double study_seconds(double otherwise)
{
    const char *set = getenv("STUDY_SECONDS");
    return set ? atof(set) : otherwise;
}

// Makes one synchronous copy, or a naive one.
static inline void study_copy(bool to_device, CUdeviceptr device, void *host, size_t size)
{
    bool naive = study_naive();
    if (naive)
        CHECK(cuMemHostRegister(host, size, 0));
    CHECK(to_device ? cuMemcpyHtoD(device, host, size) : cuMemcpyDtoH(host, device, size));
    if (naive) {
        CHECK(cuCtxSynchronize());
        CHECK(cuMemHostUnregister(host));
    }
}

#endif
