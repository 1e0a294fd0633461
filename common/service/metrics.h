// SPDX-License-Identifier: BSD-3-Clause
// Writes metrics in the Prometheus text format.
#ifndef RGPU_COMMON_METRICS_H
#define RGPU_COMMON_METRICS_H

#include <stdint.h>
#include <stdio.h>

enum { HISTOGRAM_BOUNDS = 18 }; // bounds from 0.1 ms to a minute, in steps of 1, 2.5 and 5

struct histogram {
    // number of values in each bucket; the last one has all longer ones
    uint64_t counts[HISTOGRAM_BOUNDS + 1];
    double sum;
};

void histogram_add(struct histogram *histogram, double seconds);

// NAME lacks the prefix "rgpu_", which is added. Names of DCGM ("DCGM_...") have none. TYPE is
// "counter" or "gauge".
void metrics_describe(FILE *out, const char *name, const char *type, const char *help);
void metrics_put(FILE *out, const char *name, const char *type, const char *help, double value);
void metrics_put_histogram(FILE *out, const char *name, const char *help,
                           const struct histogram *histogram);
// Writes a sample of a described metric with COUNT labels, given as pairs of name and value.
void metrics_put_sample(FILE *out, const char *name, const char *const (*labels)[2], int count,
                        double value);

// Writes rgpu_build_info, and the usual process_* metrics of Prometheus clients.
void metrics_put_process(FILE *out, const char *program);

#endif
