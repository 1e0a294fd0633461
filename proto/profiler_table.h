// SPDX-License-Identifier: BSD-3-Clause
// The interface between libcuda.so.1 and rgpu's CUPTI library in one process: the CUPTI library
// looks up rgpu_profiler_table in libcuda.so.1 by name.
#ifndef RGPU_PROTO_PROFILER_TABLE_H
#define RGPU_PROTO_PROFILER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

enum { PROFILER_TABLE_VERSION = 1 };

// A driver call of the program that has returned, reported in the thread that made it.
struct profiler_call {
    const char *name; // a constant
    uint32_t number;  // `correlation` of the GPU's work that the call caused
    CUresult result;
    uint64_t began, ended; // ns, CLOCK_MONOTONIC
    bool pageable;         // copies memory of the program that is not page-locked
};

// A listener for the work of the GPUs, which the caller of `join` owns and keeps until `leave`.
// Times are nanoseconds of this process's CLOCK_MONOTONIC, and devices have the program's numbers.
// WORK is valid during the call; NAME, of a kernel or NULL, until the process ends. Calls may come
// from different threads, but never two at a time.
struct profiler_listener {
    void (*worked)(void *argument, const struct wire_activity *work, const char *name);
    void *argument;
    struct profiler_listener *next; // for libcuda.so.1 only
};

struct profiler_table {
    uint32_t version;
    // Adds a listener. While there is one, the boxes record the work of their GPUs.
    void (*join)(struct profiler_listener *listener);
    // Removes a listener.
    void (*leave)(struct profiler_listener *listener);
    // Fetches the records of the work that has ended on the GPUs, and passes them to all listeners
    // before it returns. Returns the number of records lost on the boxes since the first listener
    // joined.
    uint64_t (*collect)(void);
    // Sets the function that is called after each driver call; NULL: none.
    void (*watch)(void (*called)(const struct profiler_call *call));
    // Sets the numbers that records have for the current context and for one of its streams.
    // Returns false if they are not known.
    bool (*numbers)(CUstream stream, uint32_t *of_stream, uint32_t *of_context);
};

#endif
