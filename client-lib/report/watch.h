// SPDX-License-Identifier: BSD-3-Clause
// Watching the calls of a program: RGPU_STATS=1 ends with a summary on standard error, RGPU_TRACE=file
// writes a timeline, RGPU_LOG=debug names each call that fails. Each exported call (api_watched.c, which
// is generated) and each place where a thread waits asks watching() first; where nothing is asked for,
// that is all it costs.
//
// What is counted belongs to the thread that counts it, so nothing here takes a lock but a full buffer
// of the timeline on its way to the file. Any thread may call.
#ifndef RGPU_CLIENT_WATCH_H
#define RGPU_CLIENT_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client-lib/report/counts.h"
#include "client-lib/report/stopwatch.h"
#include "proto/cuda_abi.h"
#include "proto/profiler_table.h"

// Set when the library is loaded; false in the child of a fork and at the end of the process.
extern atomic_bool watch_on;
static inline bool watching(void)
{
    return __builtin_expect(atomic_load_explicit(&watch_on, memory_order_relaxed), 0);
}

// A point in time, for the functions below; 0 where nobody watches.
static inline uint64_t watch_begin(void)
{
    return watching() ? stopwatch_ns() : 0;
}

// The same for a call of the program, which gets a number where GPUs' work is noted (watch_number_calls).
uint64_t watch_enter(void);
// Of the call that the thread is in; 0: none.
extern __thread uint32_t watch_number;
void watch_number_calls(bool numbered);
// Has each timed call told to CALLED at its end (NULL: no longer).
void watch_calls(void (*called)(const struct profiler_call *call));
// Whether a timeline is written; GPUs' work is to be told to it.
bool watch_has_timeline(void);

// The call OP (enum cuda_op) began at BEGAN and gives RESULT, which is returned.
CUresult watch_call(unsigned int op, uint64_t began, CUresult result);

// The same of a call that is too short to be timed.
CUresult watch_glance(unsigned int op, CUresult result);

void watch_waited(enum watch_wait reason, uint64_t began);
static inline void watch_wait_end(enum watch_wait reason, uint64_t began)
{
    if (__builtin_expect(began != 0, 0))
        watch_waited(reason, began);
}

// What the call that the thread is in does: SIZE bytes of the program's memory, or a kernel.
void watch_bytes(enum watch_direction direction, size_t size, bool locked);
#define watch_copied(direction, size, locked) \
    do { \
        if (watching()) \
            watch_bytes(direction, size, locked); \
    } while (0)
// NAME may be NULL, and is copied.
void watch_kernel(const char *name, const CUlaunchConfig *config);

// Has DESCRIBE write its lines into the summary; each begins with SUMMARY_LINE.
void watch_describe(void (*describe)(FILE *out));

// In the child of a fork: what the parent's threads have counted is theirs.
void watch_abandon(void);

#endif
