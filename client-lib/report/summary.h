// SPDX-License-Identifier: BSD-3-Clause
// The summary that RGPU_STATS=1 asks for.
#ifndef RGPU_CLIENT_SUMMARY_H
#define RGPU_CLIENT_SUMMARY_H

#include <stdint.h>
#include <stdio.h>

#include "client-lib/report/counts.h"

// What each line but the first begins with.
#define SUMMARY_LINE "rgpu:   "

// The summary of all THREADS of a process that BEGAN then, in ns.
void summary_write(FILE *out, const struct thread_counts *threads, uint64_t began);

#endif
