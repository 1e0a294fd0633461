// SPDX-License-Identifier: BSD-3-Clause
// The summary that RGPU_STATS=1 requests.
#ifndef RGPU_CLIENT_SUMMARY_H
#define RGPU_CLIENT_SUMMARY_H

#include <stdint.h>
#include <stdio.h>

#include "client-lib/cuda/report/counts.h"

// The beginning of each line but the first.
#define SUMMARY_LINE "rgpu:   "

// Writes the summary of all THREADS (a list) of a process that began at BEGAN, in ns.
void summary_write(FILE *out, const struct thread_counts *threads, uint64_t began);

#endif
