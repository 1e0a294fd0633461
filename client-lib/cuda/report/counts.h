// SPDX-License-Identifier: BSD-3-Clause
// The counts of calls, waits and copies of each thread. The thread writes them (watch.c); the
// summary and the timeline read them.
#ifndef RGPU_CLIENT_COUNTS_H
#define RGPU_CLIENT_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda_ops.h"

// Reasons for which a thread waits.
enum watch_wait {
    WATCH_WAIT_GPU,    // the answer to a call that may take as long as the GPU's work does
    WATCH_WAIT_ANSWER, // the answer to another call
    WATCH_WAIT_DATA,   // data in transit from the GPU, or to it
    WATCH_WAIT_ROOM,   // space for the next request or block, if the box is slow
    WATCH_WAITS        // number of reasons
};
enum watch_direction { WATCH_TO_GPU, WATCH_FROM_GPU };

// A count that one thread writes and other threads read.
typedef _Atomic uint64_t watch_count;

// The calls of one driver function: their number, that of failed ones, how often they waited for an
// answer, their total and longest time.
struct call_count {
    watch_count calls, failed, answers, ns, longest_ns;
};
// The waits for one reason: their number, total and shortest time (0 before the first wait).
struct wait_count {
    watch_count waits, ns, shortest_ns;
};
// The copies in one direction.
struct byte_count {
    watch_count copies, bytes;
};

// An event of the timeline: a call, or a wait inside a call.
struct timeline_event {
    uint64_t began, ended;      // stopwatch_ns
    uint64_t bytes;             // bytes that the call copied
    int32_t result;             // of the call
    uint16_t op;                // enum cuda_op; 0: a wait
    uint16_t wait;              // enum watch_wait
    uint32_t number;            // number of a call that sent recorded work to the GPU; else 0
    bool pageable;              // the call copied memory that is not page-locked
    uint32_t grid[3], block[3]; // of the kernel
    char kernel[64];            // "" if the call launches no kernel
};
enum { TIMELINE_EVENTS = 2048 }; // maximum of events in a buffer

struct timeline_buffer {
    struct timeline_buffer *next;
    int tid;        // the kernel's number of the thread that the events belong to
    uint32_t count; // number of events
    struct timeline_event events[TIMELINE_EVENTS];
};

struct thread_counts {
    struct thread_counts *next; // next in the list of all threads, which stay until the process
                                // ends
    atomic_bool owned;          // a living thread uses it
    struct call_count calls[CUDA_OP_LIMIT];
    struct wait_count waits[WATCH_WAITS];
    struct byte_count copied[2];    // by enum watch_direction
    uint64_t answers;               // for which the thread's current call has waited so far
    struct timeline_event now;      // data so far about the thread's current call
    struct timeline_buffer *buffer; // NULL if it has none yet, or no timeline is written
};

// Adds NUMBER. Only the thread that owns the count calls this.
static inline void count_add(watch_count *count, uint64_t number)
{
    uint64_t before = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, before + number, memory_order_relaxed);
}

// Returns the count. Any thread may call.
static inline uint64_t count_read(const watch_count *count)
{
    return atomic_load_explicit((watch_count *)count, memory_order_relaxed);
}

// Returns the reason in words, as "for the GPU".
const char *wait_name(enum watch_wait reason);

#endif
