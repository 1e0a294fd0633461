// SPDX-License-Identifier: BSD-3-Clause
// Frees of pool memory in stream order (cuMemFreeAsync) while copies that use the memory are not
// completely queued.
//
// After cuMemFreeAsync the driver rejects every call with that memory. But the worker queues the
// blocks of a copy after the request has returned, so the program's free may come first. In that
// case the worker calls cuMemFreeAsync after it has queued the last block. The program's stream
// waits on a semaphore until then, so that later work in the stream sees the memory freed.
#ifndef RGPU_WORKER_HELD_FREES_H
#define RGPU_WORKER_HELD_FREES_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// Device memory of a copy, from the request until all of its blocks are queued or it has failed.
struct copied_range {
    uint64_t start, end;
    struct copied_range *next;
    struct copied_range **at; // pointer to this range in the list; NULL: not in the list
    _Atomic bool counts;      // the range is only counted, not in the list
};

// Must be called before requests are served, and after the context watchers of copies are
// registered.
void held_frees_start(void);
void copied_range_begin(struct copied_range *range, uint64_t start, uint64_t size);
// Removes RANGE if it is still there. Thread-safe; does not change the current context.
void copied_range_over(struct copied_range *range);
// Returns true if a copy that uses the range is not completely queued.
bool memory_is_copied(uint64_t start, uint64_t end);
bool copies_are_queued(void); // returns true if all copies are completely queued
// Frees [ADDRESS, END) after these copies, in the order of STREAM. STREAM belongs to CONTEXT, the
// current context.
CUresult free_behind_copies(CUdeviceptr address, uint64_t end, CUstream stream, CUcontext context);

#endif
