// SPDX-License-Identifier: BSD-3-Clause
// Figures in Prometheus' text format, as every exporter of rgpu writes them.
#ifndef RGPU_COMMON_METRICS_H
#define RGPU_COMMON_METRICS_H

#include <stdint.h>
#include <stdio.h>

enum { HISTOGRAM_BOUNDS = 18 }; // from 0.1 ms to a minute, in steps of 1, 2.5 and 5

struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1]; // each up to its bound; the last: all that are longer
    double sum;
};

void histogram_add(struct histogram *histogram, double seconds);

// NAME without "rgpu_", which all have in front. TYPE is "counter" or "gauge".
void metrics_describe(FILE *out, const char *name, const char *type, const char *help);
void metrics_put(FILE *out, const char *name, const char *type, const char *help, double value);
void metrics_put_histogram(FILE *out, const char *name, const char *help,
                           const struct histogram *histogram);
// A sample of a described figure with COUNT labels, given as pairs of name and value.
void metrics_put_sample(FILE *out, const char *name, const char *const (*labels)[2], int count,
                        double value);

// rgpu_build_info, and the process_* figures that every Prometheus client library has.
void metrics_put_process(FILE *out, const char *program);

#endif
