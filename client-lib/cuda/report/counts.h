// SPDX-License-Identifier: BSD-3-Clause
// The counts of each thread. The thread writes them (watch.c); the summary and the timeline read
// them.
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
    WATCH_WAITS
};
enum watch_direction { WATCH_TO_GPU, WATCH_FROM_GPU };

// Written by one thread, and read by the thread that writes the summary.
typedef _Atomic uint64_t watch_count;

struct call_count {
    watch_count calls, failed, ns, longest_ns;
};
struct wait_count {
    watch_count waits, ns, shortest_ns; // shortest_ns: 0 before the first
};
struct byte_count {
    watch_count copies, bytes;
};

// Part of the timeline: a call, or a wait inside one.
struct timeline_event {
    uint64_t began, ended; // ns
    uint64_t bytes;        // copied; 0: none
    int32_t result;
    uint16_t op;     // 0: a wait
    uint16_t wait;   // enum watch_wait
    uint32_t number; // number of a call that gave the GPU recorded work; else 0
    bool pageable;   // it copied memory that is not page-locked
    uint32_t grid[3], block[3];
    char kernel[64]; // "" if the call launches no kernel
};
enum { TIMELINE_EVENTS = 2048 };

struct timeline_buffer {
    struct timeline_buffer *next;
    int tid; // thread that the events belong to
    uint32_t count;
    struct timeline_event events[TIMELINE_EVENTS];
};

struct thread_counts {
    struct thread_counts *next; // next in the list of all threads, which stay until the process
                                // ends
    atomic_bool owned;          // a living thread uses it
    struct call_count calls[CUDA_OP_LIMIT];
    struct wait_count waits[WATCH_WAITS];
    struct byte_count copied[2];
    struct timeline_event now;      // data so far about the thread's current call
    struct timeline_buffer *buffer; // NULL if it has none yet, or no timeline is written
};

static inline void count_add(watch_count *count, uint64_t number)
{
    uint64_t before = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, before + number, memory_order_relaxed);
}

static inline uint64_t count_read(const watch_count *count)
{
    return atomic_load_explicit((watch_count *)count, memory_order_relaxed);
}

// "for the GPU", ...
const char *wait_name(enum watch_wait reason);

#endif
