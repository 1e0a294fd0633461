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

// A call of the program that has ended, reported in its own thread.
struct profiler_call {
    const char *name;
    uint32_t number; // by which the GPU's work names it
    CUresult result;
    uint64_t began, ended; // ns, CLOCK_MONOTONIC
    bool pageable;         // copies memory of the program that is not page-locked
};

// A listener for the work of the GPU: times are this process's CLOCK_MONOTONIC, devices are
// numbered as the program numbers them, NAME (of a kernel, else NULL) stays valid. Several threads
// may report, one at a time.
struct profiler_listener {
    void (*worked)(void *argument, const struct wire_activity *work, const char *name);
    void *argument;
    struct profiler_listener *next; // libcuda's
};

struct profiler_table {
    uint32_t version;
    // From now on the boxes record the work of their GPUs and report it to LISTENER.
    void (*join)(struct profiler_listener *listener);
    void (*leave)(struct profiler_listener *listener);
    // Fetches the work that has ended on the GPUs; all listeners have it before it returns. Returns
    // the number of records lost on the boxes since the first listener joined.
    uint64_t (*collect)(void);
    // Has each call reported (NULL: no longer).
    void (*watch)(void (*called)(const struct profiler_call *call));
    // The numbers by which records name a stream of the current context, and that context. False:
    // not known.
    bool (*numbers)(CUstream stream, uint32_t *of_stream, uint32_t *of_context);
};

#endif
