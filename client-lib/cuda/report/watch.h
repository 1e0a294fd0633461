// SPDX-License-Identifier: BSD-3-Clause
// Watches the calls of a program. RGPU_STATS=1 prints a summary to standard error at the end,
// RGPU_TRACE=file writes a timeline, RGPU_LOG=debug logs each call that fails. Each exported call
// (api_watched.c, which is generated) and each place where a thread waits checks watching() first;
// if watching is off, that check is the only cost.
//
// Each thread has its own counts, so only the handover of a full timeline buffer takes a lock. Any
// thread may call.
#ifndef RGPU_CLIENT_WATCH_H
#define RGPU_CLIENT_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client-lib/cuda/report/counts.h"
#include "client-lib/cuda/report/stopwatch.h"
#include "proto/cuda_abi.h"
#include "proto/profiler_table.h"

// True while calls are watched. Set when the library is loaded; false in a forked child and at the
// end of the process.
extern atomic_bool watch_on;
static inline bool watching(void)
{
    return __builtin_expect(atomic_load_explicit(&watch_on, memory_order_relaxed), 0);
}

// Returns the time in ns, which the caller passes to the functions below as BEGAN; 0 if watching is
// off.
static inline uint64_t watch_begin(void)
{
    return watching() ? stopwatch_ns() : 0;
}

// The same at the beginning of a call of the program. If watch_number_calls is on, the call gets a
// number, which links records of GPU work to the call.
uint64_t watch_enter(void);
// The number of the thread's current call; 0 if the call has none.
extern __thread uint32_t watch_number;
// Turns the numbering of calls on or off.
void watch_number_calls(bool numbered);
// Sets the function that is called at the end of each timed call; NULL for none.
void watch_calls(void (*called)(const struct profiler_call *call));
// Returns true if a timeline is written, which also needs records of GPU work.
bool watch_has_timeline(void);

// Counts the call OP (enum cuda_op), which began at BEGAN and ends with RESULT. Returns RESULT.
CUresult watch_call(unsigned int op, uint64_t began, CUresult result);

// The same for a call that is too short to be timed.
CUresult watch_glance(unsigned int op, CUresult result);

// Counts a wait that began at BEGAN and has just ended. watch_wait_end does nothing if BEGAN is 0.
void watch_waited(enum watch_wait reason, uint64_t began);
static inline void watch_wait_end(enum watch_wait reason, uint64_t began)
{
    if (__builtin_expect(began != 0, 0))
        watch_waited(reason, began);
}

// Counts a copy of SIZE bytes of the program's memory by the thread's current call. LOCKED: the
// memory is page-locked.
void watch_bytes(enum watch_direction direction, size_t size, bool locked);
#define watch_copied(direction, size, locked) \
    do { \
        if (watching()) \
            watch_bytes(direction, size, locked); \
    } while (0)
// Stores that the thread's current call launches the kernel NAME, which may be NULL and is copied.
void watch_kernel(const char *name, const CUlaunchConfig *config);

// Sets a function that the summary calls to write further lines; each line begins with
// SUMMARY_LINE.
void watch_describe(void (*describe)(FILE *out));

// Called in a forked child: stops watching, because the counts belong to the parent's threads.
void watch_abandon(void);

#endif
